// SPDX-License-Identifier: MIT OR Apache-2.0
//! setitimer, alarm and ualarm: one timer of each kind for the process, which signals it.
use crate::code::is_own;
use crate::engine::now;
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins, stand_ins_at};
use crate::threads::clock;
use crate::threads::timers::{Counts, Event, arm, create, disarm, left};
use core::ffi::{c_int, c_uint};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The timers' numbers, one more; 0: not made yet.
static NUMBERS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

fn timer(which: c_int) -> Option<(usize, Counts)> {
    let (counts, signal) = match which {
        libc::ITIMER_REAL => (Counts::Time, libc::SIGALRM),
        libc::ITIMER_VIRTUAL => (Counts::Process, libc::SIGVTALRM),
        libc::ITIMER_PROF => (Counts::Process, libc::SIGPROF),
        _ => return None,
    };
    let slot = &NUMBERS[which as usize];
    if slot.load(Ordering::Relaxed) == 0 {
        slot.store(create(counts, Event::Interval(signal)) + 1, Ordering::Relaxed);
    }
    Some((slot.load(Ordering::Relaxed) - 1, counts))
}

/// Sets a timer in nanoseconds; returns what was left of it, and its interval, in nanoseconds.
fn set(which: c_int, first: u64, interval: u64) -> (u64, u64) {
    sched::enter_kernel();
    let Some((timer, counts)) = timer(which) else { return (0, 0) };
    let (old, old_interval) = left(timer);
    match first {
        0 => disarm(timer),
        _ => arm(timer, counts.at(now()).saturating_add(clock::ticks_of(first)), clock::ticks_of(interval)),
    }
    (clock::nanoseconds_of(old), clock::nanoseconds_of(old_interval))
}

fn nanoseconds(time: &libc::timeval) -> Option<u64> {
    let microseconds = u64::try_from(time.tv_usec).ok().filter(|us| *us < 1_000_000)?;
    Some(u64::try_from(time.tv_sec).ok()?.saturating_mul(clock::NANOSECONDS) + microseconds * 1000)
}

/// Rounded up: what is armed is never shown as 0.
fn timeval(nanoseconds: u64) -> libc::timeval {
    let microseconds = nanoseconds.div_ceil(1000);
    libc::timeval { tv_sec: (microseconds / 1_000_000) as i64, tv_usec: (microseconds % 1_000_000) as i64 }
}

fn show(into: *mut libc::itimerval, (left, interval): (u64, u64)) {
    // SAFETY: the caller's variable, or null.
    if let Some(into) = unsafe { into.as_mut() } {
        *into = libc::itimerval { it_interval: timeval(interval), it_value: timeval(left) };
    }
}

stand_ins! {
    fn setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int {
        if timer(which).is_none() {
            return failed(libc::EINVAL);
        }
        // SAFETY: the caller's variable, or null, which stands for zeroes.
        let (first, interval) = match unsafe { new.as_ref() } {
            None => (0, 0),
            Some(new) => match (nanoseconds(&new.it_value), nanoseconds(&new.it_interval)) {
                (Some(first), Some(interval)) => (first, interval),
                _ => return failed(libc::EINVAL),
            },
        };
        show(old, set(which, first, interval));
        0
    }

    fn getitimer(which: c_int, into: *mut libc::itimerval) -> c_int {
        sched::enter_kernel();
        let Some((timer, _)) = timer(which) else { return failed(libc::EINVAL) };
        let (left, interval) = left(timer);
        show(into, (clock::nanoseconds_of(left), clock::nanoseconds_of(interval)));
        0
    }

    fn ualarm(first: c_uint, interval: c_uint) -> c_uint {
        let (left, _) = set(libc::ITIMER_REAL, u64::from(first) * 1000, u64::from(interval) * 1000);
        left.div_ceil(1000) as c_uint
    }
}

stand_ins_at! {
    "rsi" fn alarm(seconds: c_uint; pc) -> c_uint {
        if is_own(pc) {
            return own(seconds);
        }
        let (left, _) = set(libc::ITIMER_REAL, u64::from(seconds) * clock::NANOSECONDS, 0);
        // As Linux rounds: never to 0.
        let (whole, rest) = (left / clock::NANOSECONDS, left % clock::NANOSECONDS);
        let more = whole == 0 && rest > 0 || rest >= clock::NANOSECONDS / 2;
        (whole + u64::from(more)) as c_uint
    }
}
