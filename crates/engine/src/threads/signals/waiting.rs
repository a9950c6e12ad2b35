// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for signals.
use super::actions::{bits, is_programs};
use super::delivery::deliver;
use super::masks::Borrowed;
use super::pending::{PROCESS, reconsider};
use crate::engine::now;
use crate::scheduling::fiber::current;
use crate::scheduling::fiber::{Wait, Woken};
use crate::scheduling::{sched, timers};
use crate::stand_in::{failed, stand_ins_at};
use crate::state::scheduler::running_fiber;
use crate::state::signals::Information;
use crate::threads::cancel;
use crate::threads::clock;
use core::ffi::c_int;
use corefold_model::Ticks;

fn block(call: &'static str, pc: u64) {
    crate::hooks::frames::stops_at(pc);
    current().blocked_at.set(pc);
    sched::block(Wait::Signal { call });
}

/// Takes a signal of `set` that waits or comes before `deadline`. EAGAIN: none came; EINTR: a handler ran.
fn take(set: u64, deadline: Option<Ticks>, call: &'static str, pc: u64) -> Result<Information, c_int> {
    cancel::test();
    sched::enter_kernel();
    loop {
        if let Some(found) = taken(set) {
            return Ok(found);
        }
        if let Some(deadline) = deadline {
            if deadline <= now() {
                return Err(libc::EAGAIN);
            }
            let me = running_fiber();
            timers::set(me, timers::late(me, deadline, 0));
        }
        current().signals.awaited.set(set);
        block(call, pc);
        let found = taken(set);
        current().signals.awaited.set(0);
        reconsider();
        match found {
            Some(found) => return Ok(found),
            None if current().woken.get() == Woken::Timer => return Err(libc::EAGAIN),
            None => {}
        }
        cancel::test();
        if deliver(pc).is_some() {
            return Err(libc::EINTR);
        }
    }
}

fn taken(set: u64) -> Option<Information> {
    let mut found = current()
        .signals
        .pending
        .with(|pending| pending.take(set))
        .or_else(|| PROCESS.with(|process| process.pending.take(set)))?;
    reconsider();
    crate::threads::timers::delivered(&mut found);
    Some(found)
}

/// Waits until a handler has run.
fn until_handled(call: &'static str, pc: u64) -> c_int {
    loop {
        block(call, pc);
        cancel::test();
        if deliver(pc).is_some() {
            return failed(libc::EINTR);
        }
    }
}

fn suspend(mask: *const libc::sigset_t, call: &'static str, pc: u64) -> c_int {
    cancel::test();
    sched::enter_kernel();
    // SAFETY: the caller's set.
    let mask = unsafe { Borrowed::new(mask) };
    let code = until_handled(call, pc);
    mask.give_back();
    code
}

fn tell(found: Result<Information, c_int>, into: *mut libc::siginfo_t) -> c_int {
    match found {
        Ok(mut found) => {
            // SAFETY: the caller's variable, if any.
            if let Some(into) = unsafe { into.as_mut() } {
                // SAFETY: both are plain data of one layout.
                *into = unsafe { *found.as_kernels() };
            }
            found.signal
        }
        Err(error) => failed(error),
    }
}

/// The running thread's mask without one signal, for the old `sigpause`.
fn without(signal: c_int) -> libc::sigset_t {
    // SAFETY: a zeroed set is valid.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        super::actions::set_bits(&mut set, current().signals.mask.get() & !super::actions::bit(signal));
        set
    }
}

stand_ins_at! {
    "rdi" fn pause(; pc) -> c_int {
        cancel::test();
        sched::enter_kernel();
        until_handled("pause", pc)
    }

    "rsi" fn sigsuspend(set: *const libc::sigset_t; pc) -> c_int { suspend(set, "sigsuspend", pc) }

    "rsi" fn __xpg_sigpause(signal: c_int; pc) -> c_int {
        match is_programs(signal) {
            true => suspend(&without(signal), "sigpause", pc),
            false => failed(libc::EINVAL),
        }
    }

    "rdx" fn sigwait(set: *const libc::sigset_t, signal: *mut c_int; pc) -> c_int {
        // SAFETY: the caller's set and variable.
        unsafe {
            loop {
                match take(bits(set), None, "sigwait", pc) {
                    Ok(found) => {
                        *signal = found.signal;
                        return 0;
                    }
                    Err(libc::EINTR) => {}
                    Err(error) => return error,
                }
            }
        }
    }

    "rdx" fn sigwaitinfo(set: *const libc::sigset_t, into: *mut libc::siginfo_t; pc) -> c_int {
        // SAFETY: the caller's set.
        tell(take(unsafe { bits(set) }, None, "sigwaitinfo", pc), into)
    }

    "rcx" fn sigtimedwait(set: *const libc::sigset_t, into: *mut libc::siginfo_t, limit: *const libc::timespec; pc) -> c_int {
        // SAFETY: the caller's variable, or null.
        let deadline = match unsafe { limit.as_ref() } {
            None => None,
            Some(limit) => match clock::nanoseconds_in(limit).filter(|_| limit.tv_sec >= 0) {
                Some(nanoseconds) => Some(now().saturating_add(clock::ticks_of(nanoseconds))),
                None => return failed(libc::EINVAL),
            },
        };
        // SAFETY: the caller's set.
        tell(take(unsafe { bits(set) }, deadline, "sigtimedwait", pc), into)
    }
}
