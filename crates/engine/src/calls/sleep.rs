// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeping and yielding, in virtual time.
use crate::engine::{now, sim};
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::fiber::{Wait, Woken};
use crate::scheduling::{peek, sched, timers};
use crate::stand_in::{failed, stand_ins};
use crate::state::scheduler::running_fiber;
use crate::threads::cancel;
use crate::threads::clock;
use core::ffi::{c_int, c_uint};
use corefold_model::Ticks;

/// A handler has run while the thread slept.
pub struct Interrupted {
    /// It has `SA_RESTART`: calls that are restarted at all go on.
    restarts: bool,
}

/// Takes the running thread off its CPU until `deadline`.
pub fn until(deadline: Ticks) -> Result<(), Interrupted> {
    until_as(deadline, Wait::Sleep)
}

/// The same in a call that waits for something else by sleeping.
pub fn until_as(deadline: Ticks, wait: Wait) -> Result<(), Interrupted> {
    cancel::test();
    sched::enter_kernel();
    while deadline > now() {
        timers::set(running_fiber(), deadline);
        sched::block(wait);
        if current().woken.get() == Woken::Signal {
            cancel::test();
            if let Some(restarts) = crate::threads::signals::delivery::deliver(0) {
                return Err(Interrupted { restarts });
            }
        }
    }
    Ok(())
}

/// Takes the running thread off its CPU until a call is to be tried again at `next`, or a handler has run. EINTR: the call
/// does not go on; one that `restarts` does after a handler with `SA_RESTART`.
pub fn until_next_try(next: Ticks, wait: Wait, restarts: bool) -> Result<(), c_int> {
    match until_as(next, wait) {
        Err(interrupted) if !(restarts && interrupted.restarts) => Err(libc::EINTR),
        _ => Ok(()),
    }
}

/// When a sleep of the program's ends.
fn late(deadline: Ticks) -> Ticks {
    timers::late(running_fiber(), deadline, 0)
}

/// Nanoseconds that are left when a handler interrupts it, with the slack, or 0.
fn sleep_for(nanoseconds: u64) -> u64 {
    let deadline = late(now().saturating_add(clock::ticks_of(nanoseconds)));
    match until(deadline) {
        Ok(()) => 0,
        Err(Interrupted { .. }) => clock::nanoseconds_of(deadline.saturating_sub(now())).max(1),
    }
}

/// What a sleep came to: 0, or EINTR with what is left of it.
fn outcome(nanoseconds: u64, left: *mut libc::timespec) -> c_int {
    if nanoseconds == 0 {
        return 0;
    }
    match left.is_null() || peek::put(left, clock::timespec(nanoseconds)) {
        true => libc::EINTR,
        false => libc::EFAULT,
    }
}

fn give_way() -> c_int {
    let (called, begin) = (hot().called.get(), hot().clock.get());
    sched::enter_kernel();
    if sim(|sim| sim.cpus[sim.cpu].ready.is_empty()) {
        // Nothing but time has passed: a spin that does this at each turn is steady, and may be skipped.
        hot().called.set(called);
        current().spins.with(|spins| spins.rested(begin, hot().clock.get()));
    }
    sched::give_way(usize::MAX);
    0
}

stand_ins! {
    fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        let Some(time) = peek::fetch(time) else { return failed(libc::EFAULT) };
        let Some(nanoseconds) = clock::nanoseconds_in(&time).filter(|_| time.tv_sec >= 0) else {
            return failed(libc::EINVAL);
        };
        match outcome(sleep_for(nanoseconds), left) {
            0 => 0,
            error => failed(error),
        }
    }

    fn clock_nanosleep(id: c_int, flags: c_int, time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        let Some(time) = peek::fetch(time) else { return libc::EFAULT };
        let (Some(nanoseconds), true) = (clock::nanoseconds_in(&time), time.tv_sec >= 0) else { return libc::EINVAL };
        if id == libc::CLOCK_THREAD_CPUTIME_ID || clock::read(id).is_none() {
            return libc::EINVAL;
        }
        if flags & libc::TIMER_ABSTIME != 0 {
            return match until(late(clock::ticks_when(id, nanoseconds).unwrap_or(0))) {
                Ok(()) => 0,
                Err(Interrupted { .. }) => libc::EINTR,
            };
        }
        outcome(sleep_for(nanoseconds), left)
    }

    fn usleep(microseconds: c_uint) -> c_int {
        match sleep_for(u64::from(microseconds) * 1000) {
            0 => 0,
            _ => failed(libc::EINTR),
        }
    }

    /// What is left is rounded as glibc does: down.
    fn sleep(seconds: c_uint) -> c_uint {
        (sleep_for(u64::from(seconds) * clock::NANOSECONDS) / clock::NANOSECONDS) as c_uint
    }

    fn sched_yield() -> c_int {
        give_way()
    }

    fn pthread_yield() -> c_int {
        give_way()
    }

    fn thrd_yield() -> c_int {
        give_way()
    }

    /// C11's: 0, or -1 when a signal came.
    fn thrd_sleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        // SAFETY: the caller's variable.
        let Some(nanoseconds) = clock::nanoseconds_in(unsafe { &*time }) else { return -2 };
        if outcome(sleep_for(nanoseconds), left) == 0 { 0 } else { -1 }
    }
}
