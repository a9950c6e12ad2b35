// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program sends signals.
use super::actions::{ends, is_programs};
use super::delivery::deliver;
use super::pending::is_due;
use super::sending::{is_awaiting, send, taker};
use crate::engine::now;
use crate::process_id::{self, OWN};
use crate::scheduling::fiber::{FIBERS, State, current};
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins_at};
use crate::state::scheduler::running_fiber;
use crate::state::signals::{Information, Target, bit};
use crate::threads::affinity;
use core::ffi::c_int;

/// What `raise`, `kill` and their like do; the call returns to `pc`.
fn send_now(target: Target, information: Information, pc: u64) {
    if ends_at_once(target, information.signal) {
        match target {
            Target::Thread(fiber) if fiber != running_fiber() => crate::ending::killed_there(information.signal, fiber),
            _ => crate::ending::killed(information.signal, pc),
        }
    }
    send(target, information, now());
    if is_due() {
        deliver(pc);
    }
}

/// Does the signal end the process before the call returns? As on Linux, no thread runs on until the one that takes it
/// looks.
fn ends_at_once(target: Target, signal: c_int) -> bool {
    ends(signal) && taker(target, signal).is_some_and(|fiber| !is_awaiting(fiber, signal))
}

/// Does the call mean the calling process?
fn is_self(process: libc::pid_t) -> bool {
    if process >= 0 {
        return affinity::numbered(process).is_some();
    }
    // SAFETY: no arguments.
    process == -OWN && unsafe { libc::getpgrp() } == OWN
}

/// The kernel's ID of another process, or of a group if it is negative.
fn other(process: libc::pid_t) -> libc::pid_t {
    process_id::of_either(process, process_id::to_kernel)
}

/// To a thread by its number, as the kernel's calls have it.
fn send_to_number(number: c_int, information: Information, pc: u64) -> c_int {
    sched::enter_kernel();
    let Some(fiber) = affinity::numbered(number).filter(|_| number > 0) else { return failed(libc::ESRCH) };
    if FIBERS[fiber].state.get() == State::Finished {
        return failed(libc::ESRCH);
    }
    match information.signal {
        0 => {}
        signal if !is_programs(signal) => return failed(libc::EINVAL),
        _ => send_now(Target::Thread(fiber), information, pc),
    }
    0
}

/// To a thread by its handle: errors are returned.
fn send_to_handle(thread: libc::pthread_t, information: Information, pc: u64) -> c_int {
    sched::enter_kernel();
    let Some(fiber) = crate::scheduling::lookup::find(thread) else { return libc::ESRCH };
    let ended = FIBERS[fiber].state.get() == State::Finished;
    match information.signal {
        0 => {}
        signal if !is_programs(signal) => return libc::EINVAL,
        _ if ended => {}
        _ => send_now(Target::Thread(fiber), information, pc),
    }
    0
}

fn send_to_process(information: Information, pc: u64) -> c_int {
    sched::enter_kernel();
    match information.signal {
        0 => {}
        signal if !is_programs(signal) => return failed(libc::EINVAL),
        libc::SIGKILL => crate::ending::killed(libc::SIGKILL, pc),
        _ => send_now(Target::Process, information, pc),
    }
    0
}

stand_ins_at! {
    "rsi" fn raise(signal: c_int; pc) -> c_int {
        match send_to_handle(FIBERS[running_fiber()].real.get(), to_thread(signal), pc) {
            0 => 0,
            error => failed(error),
        }
    }

    "rdx" fn kill(process: libc::pid_t, signal: c_int; pc) -> c_int => {
        own(other(process), signal)
    } {
        match is_self(process) {
            true => send_to_process(Information::sent(signal, libc::SI_USER, 0), pc),
            false => own(other(process), signal),
        }
    }

    "rdx" fn killpg(group: libc::pid_t, signal: c_int; pc) -> c_int => {
        own(other(group), signal)
    } {
        match is_self(-group) {
            true => send_to_process(Information::sent(signal, libc::SI_USER, 0), pc),
            false => own(other(group), signal),
        }
    }

    "rcx" fn sigqueue(process: libc::pid_t, signal: c_int, value: u64; pc) -> c_int => {
        own(other(process), signal, value)
    } {
        match is_self(process) {
            true => send_to_process(Information::sent(signal, libc::SI_QUEUE, value), pc),
            false => own(other(process), signal, value),
        }
    }

    "rdx" fn pthread_kill(thread: libc::pthread_t, signal: c_int; pc) -> c_int {
        send_to_handle(thread, to_thread(signal), pc)
    }

    "rcx" fn pthread_sigqueue(thread: libc::pthread_t, signal: c_int, value: u64; pc) -> c_int {
        send_to_handle(thread, Information::sent(signal, libc::SI_QUEUE, value), pc)
    }

    "rcx" fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int; pc) -> c_int => {
        own(other(process), other(thread), signal)
    } {
        match is_self(process) {
            true => send_to_number(thread, to_thread(signal), pc),
            false => own(other(process), thread, signal),
        }
    }

    "rdi" fn abort(; pc) -> () {
        aborts(pc)
    }
}

/// What `abort` does, called from `pc`.
pub fn aborts(pc: u64) -> ! {
    send_to_me(libc::SIGABRT, pc);
    crate::ending::killed(libc::SIGABRT, pc)
}

/// Whether it blocks the signal or not.
fn send_to_me(signal: c_int, pc: u64) {
    sched::enter_kernel();
    current().signals.mask.update(|mask| mask & !bit(signal));
    send_now(Target::Thread(running_fiber()), to_thread(signal), pc);
}

fn to_thread(signal: c_int) -> Information {
    Information::sent(signal, libc::SI_TKILL, 0)
}

/// `syscall(SYS_tgkill, …)` and its like.
pub fn by_number(thread: c_int, signal: c_int, pc: u64) -> c_int {
    send_to_number(thread, to_thread(signal), pc)
}
