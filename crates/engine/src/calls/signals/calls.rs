// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls by which a program deals with signals.
use super::{change, is_valid, own_mask, send_here, wishes, without_ours};
use crate::calls::{clock, io, sleep};
use crate::code::is_own;
use crate::crash;
use crate::engine::{engine, note};
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins_at};
use core::ffi::{c_int, c_void};

fn previous(signal: c_int) -> libc::sigaction {
    // SAFETY: a zeroed action is the default.
    wishes().actions[signal as usize].unwrap_or(unsafe { core::mem::zeroed() })
}

/// Does the call mean the calling process?
fn is_self(process: libc::pid_t) -> bool {
    // SAFETY: no arguments.
    process == 0 || process == unsafe { libc::getpid() }
}

fn mask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
    sched::enter_kernel();
    // SAFETY: the caller's variable.
    match unsafe { new.as_ref() } {
        Some(new) => own_mask(how, &without_ours(new), old),
        None => own_mask(how, new, old),
    }
}

/// A signal that the thread has sent to itself while it was held back, of those in `set`.
fn kept(set: *const libc::sigset_t, into: *mut libc::siginfo_t) -> Option<c_int> {
    crate::real::real! {
        fn sigtimedwait(set: *const libc::sigset_t, into: *mut libc::siginfo_t, limit: *const libc::timespec) -> c_int;
    }
    let got = sigtimedwait(set, into, &clock::timespec(0));
    (got > 0).then_some(got)
}

/// Waits for a signal that will not come.
fn wait_for_ever(call: &'static str, pc: u64) -> ! {
    note("waits for a signal from outside, which is not simulated: it waits for ever", pc);
    sched::enter_kernel();
    loop {
        io::wait_for_nothing(call);
    }
}

stand_ins_at! {
    "rcx" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction; pc) -> c_int {
        if is_own(pc) || !is_valid(signal) || signal == libc::SIGKILL || signal == libc::SIGSTOP {
            return own(signal, new, old);
        }
        sched::enter_kernel();
        let before = previous(signal);
        // SAFETY: the caller's variables.
        unsafe {
            if let Some(new) = new.as_ref() {
                change(signal, new, pc, |ours| {
                    own(signal, ours, core::ptr::null_mut());
                });
            }
            if let Some(old) = old.as_mut() {
                *old = before;
            }
        }
        0
    }

    "rdx" fn signal(number: c_int, handler: usize; pc) -> usize {
        // SAFETY: a zeroed action is valid.
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { core::mem::zeroed() };
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_RESTART;
        match super::sigaction::body(number, &new, &mut old, pc) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }

    "rcx" fn pthread_sigmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t; pc) -> c_int {
        if is_own(pc) { own(how, new, old) } else { mask(how, new, old) }
    }

    "rcx" fn sigprocmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t; pc) -> c_int {
        let _ = pc;
        match mask(how, new, old) {
            0 => 0,
            error => failed(error),
        }
    }

    "rsi" fn raise(signal: c_int; pc) -> c_int {
        send_here(signal, pc, || own(signal))
    }

    "rdx" fn kill(process: libc::pid_t, signal: c_int; pc) -> c_int {
        if is_self(process) { send_here(signal, pc, || own(process, signal)) } else { own(process, signal) }
    }

    "rcx" fn sigqueue(process: libc::pid_t, signal: c_int, value: usize; pc) -> c_int {
        let call = || own(process, signal, value);
        if is_self(process) { send_here(signal, pc, call) } else { call() }
    }

    "rdx" fn pthread_kill(thread: libc::pthread_t, signal: c_int; pc) -> c_int {
        let Some(fiber) = crate::threads::thread::find(thread) else { return libc::ESRCH };
        if fiber == engine().sched.fiber || signal == 0 || !is_valid(signal) {
            return send_here(signal, pc, || own(thread, signal));
        }
        note("pthread_kill() of another thread is not simulated: the signal is lost", pc);
        0
    }

    "rdi" fn abort(; pc) -> () {
        send_here(libc::SIGABRT, pc, || 0);
        crash::killed(libc::SIGABRT, pc)
    }

    "rdi" fn pause(; pc) -> c_int {
        wait_for_ever("pause", pc)
    }

    "rsi" fn sigsuspend(set: *const libc::sigset_t; pc) -> c_int {
        let _ = set;
        wait_for_ever("sigsuspend", pc)
    }

    "rdx" fn sigwait(set: *const libc::sigset_t, signal: *mut c_int; pc) -> c_int {
        let Some(got) = kept(set, core::ptr::null_mut()) else { wait_for_ever("sigwait", pc) };
        // SAFETY: the caller's variable.
        unsafe { *signal = got };
        0
    }

    "rdx" fn sigwaitinfo(set: *const libc::sigset_t, into: *mut libc::siginfo_t; pc) -> c_int {
        kept(set, into).unwrap_or_else(|| wait_for_ever("sigwaitinfo", pc))
    }

    "rcx" fn sigtimedwait(set: *const libc::sigset_t, into: *mut libc::siginfo_t, limit: *const libc::timespec; pc) -> c_int {
        if let Some(got) = kept(set, into) {
            return got;
        }
        // SAFETY: the caller's variable.
        let Some(limit) = (unsafe { limit.as_ref() }) else { wait_for_ever("sigtimedwait", pc) };
        let Some(nanoseconds) = clock::nanoseconds_in(limit) else { return failed(libc::EINVAL) };
        sleep::until(crate::engine::now().saturating_add(clock::ticks_of(nanoseconds)));
        failed(libc::EAGAIN)
    }
}

/// A thread's own stack for handlers, as the program sees it: (begin, bytes), or none.
fn stacks_of_me() -> &'static mut Option<(u64, u64)> {
    let me = engine().sched.fiber;
    let stacks = &mut wishes().stacks;
    stacks.resize(stacks.len().max(me + 1), None);
    &mut stacks[me]
}

stand_ins_at! {
    "rdx" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t; pc) -> c_int {
        if is_own(pc) {
            return own(new, old);
        }
        sched::enter_kernel();
        let mine = stacks_of_me();
        let before = *mine;
        // SAFETY: the caller's variables.
        unsafe {
            if let Some(new) = new.as_ref() {
                let off = new.ss_flags & libc::SS_DISABLE != 0;
                *mine = (!off).then_some((new.ss_sp as u64, new.ss_size as u64));
            }
            if let Some(old) = old.as_mut() {
                let (begin, bytes) = before.unwrap_or_default();
                let ss_flags = if before.is_none() { libc::SS_DISABLE } else { 0 };
                *old = libc::stack_t { ss_sp: begin as *mut c_void, ss_flags, ss_size: bytes as usize };
            }
        }
        0
    }
}
