// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sleeping and yielding, in virtual time. Nothing is added for the slack that Linux allows its timers.
use crate::calls::clock;
use crate::engine::{engine, now};
use crate::scheduling::fiber::Wait;
use crate::stand_in::{failed, stand_ins};
use core::ffi::{c_int, c_uint};
use corefold_model::Ticks;

/// Takes the running thread off its CPU until `deadline`.
pub fn until(deadline: Ticks) {
    crate::scheduling::sched::enter_kernel();
    if deadline > now() {
        crate::scheduling::sched::set_timer(engine().sched.fiber, deadline);
        crate::scheduling::sched::block(Wait::Sleep);
    }
}

fn sleep_for(nanoseconds: u64) {
    until(now().saturating_add(clock::ticks_of(nanoseconds)));
}

/// A sleep is never cut short: nothing is left of it.
fn nothing_left(left: *mut libc::timespec) {
    if !left.is_null() {
        // SAFETY: the caller's variable.
        unsafe { *left = clock::timespec(0) };
    }
}

fn give_way() -> c_int {
    crate::scheduling::sched::enter_kernel();
    crate::scheduling::sched::give_way(usize::MAX);
    0
}

stand_ins! {
    fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        // SAFETY: the caller's variable.
        match clock::nanoseconds_in(unsafe { &*time }) {
            // SAFETY: as above.
            Some(nanoseconds) if unsafe { (*time).tv_sec } >= 0 => sleep_for(nanoseconds),
            _ => return failed(libc::EINVAL),
        }
        nothing_left(left);
        0
    }

    fn clock_nanosleep(id: c_int, flags: c_int, time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        // SAFETY: the caller's variable.
        let time = unsafe { &*time };
        let (Some(nanoseconds), true) = (clock::nanoseconds_in(time), time.tv_sec >= 0) else { return libc::EINVAL };
        if id == libc::CLOCK_THREAD_CPUTIME_ID || clock::read(id).is_none() {
            return libc::EINVAL;
        }
        if flags & libc::TIMER_ABSTIME != 0 {
            until(clock::ticks_when(id, nanoseconds).unwrap_or(0));
        } else {
            sleep_for(nanoseconds);
            nothing_left(left);
        }
        0
    }

    fn usleep(microseconds: c_uint) -> c_int {
        sleep_for(u64::from(microseconds) * 1000);
        0
    }

    fn sleep(seconds: c_uint) -> c_uint {
        sleep_for(u64::from(seconds) * clock::NANOSECONDS);
        0
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

    /// C11's: 0, or -1 when a signal came, which does not happen.
    fn thrd_sleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
        // SAFETY: the caller's variable.
        match clock::nanoseconds_in(unsafe { &*time }) {
            Some(nanoseconds) => sleep_for(nanoseconds),
            None => return -2,
        }
        nothing_left(left);
        0
    }
}
