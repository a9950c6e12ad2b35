// SPDX-License-Identifier: MIT OR Apache-2.0
//! timer_create and what goes with it.
use super::threads;
use crate::carrier::Carrier;
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins};
use crate::state::signals::Target;
use crate::threads::affinity;
use crate::threads::clock;
use crate::threads::timers::{Counts, Event, arm, create, delete, disarm, first, shown, times_in, with};
use core::ffi::{c_int, c_void};

/// `struct sigevent`.
#[repr(C)]
struct Wish {
    value: u64,
    signal: c_int,
    how: c_int,
    /// A thread's number, or a function to call in a new thread and the attributes of that.
    function: u64,
    attributes: u64,
}

/// The clocks of the timers that the program has made, by the timer's number.
static MADE: Carrier<alloc::vec::Vec<(usize, c_int)>> = Carrier::new(alloc::vec::Vec::new());

/// The timer behind a `timer_t`, and its clock.
fn find(id: usize) -> Option<(usize, c_int)> {
    MADE.with(|made| made.iter().find(|(timer, _)| *timer == id).copied())
}

/// What a timer is to do. EINVAL if that is nothing known.
fn event(wish: Option<&Wish>) -> Result<Option<Event>, c_int> {
    let Some(wish) = wish else { return Ok(None) };
    let signal = || match crate::threads::signals::actions::is_programs(wish.signal) {
        true => Ok(wish.signal),
        false => Err(libc::EINVAL),
    };
    let value = wish.value;
    Ok(Some(match wish.how {
        libc::SIGEV_NONE => Event::Nothing,
        libc::SIGEV_SIGNAL => Event::Signal { target: Target::Process, signal: signal()?, value },
        libc::SIGEV_THREAD_ID => {
            let fiber = affinity::numbered(wish.function as c_int).ok_or(libc::EINVAL)?;
            Event::Signal { target: Target::Thread(fiber), signal: signal()?, value }
        }
        libc::SIGEV_THREAD => {
            threads::begin();
            Event::Thread(crate::threads::timers::Notice {
                function: wish.function,
                value,
                attributes: wish.attributes,
            })
        }
        _ => return Err(libc::EINVAL),
    }))
}

stand_ins! {
    fn timer_create(id: c_int, wish: *const c_void, into: *mut usize) -> c_int {
        sched::enter_kernel();
        let Some(counts) = Counts::of_clock(id) else { return failed(libc::EINVAL) };
        // SAFETY: the caller's structure, or null.
        let event = match event(unsafe { wish.cast::<Wish>().as_ref() }) {
            Ok(event) => event,
            Err(error) => return failed(error),
        };
        let timer = create(counts, event.unwrap_or(Event::Nothing));
        if event.is_none() {
            let signal = Event::Signal { target: Target::Process, signal: libc::SIGALRM, value: timer as u64 };
            with(timer, |t| t.event = signal);
        }
        MADE.with(|made| made.push((timer, id)));
        // SAFETY: the caller's variable.
        unsafe { *into = timer };
        0
    }

    fn timer_delete(id: usize) -> c_int {
        sched::enter_kernel();
        let Some((timer, _)) = find(id) else { return failed(libc::EINVAL) };
        MADE.with(|made| made.retain(|(t, _)| *t != timer));
        delete(timer);
        0
    }

    fn timer_settime(id: usize, flags: c_int, new: *const libc::itimerspec, old: *mut libc::itimerspec) -> c_int {
        sched::enter_kernel();
        let Some((timer, id)) = find(id) else { return failed(libc::EINVAL) };
        // SAFETY: the caller's variables.
        let Some((value, interval)) = (unsafe { new.as_ref() }).and_then(times_in) else { return failed(libc::EINVAL) };
        if !old.is_null() {
            // SAFETY: as above.
            unsafe { *old = shown(timer) };
        }
        let Some(counts) = with(timer, |t| t.counts) else { return failed(libc::EINVAL) };
        match value {
            0 => disarm(timer),
            _ => arm(timer, first(counts, id, flags & libc::TFD_TIMER_ABSTIME != 0, value), clock::ticks_of(interval)),
        }
        0
    }

    fn timer_gettime(id: usize, into: *mut libc::itimerspec) -> c_int {
        sched::enter_kernel();
        let Some((timer, _)) = find(id) else { return failed(libc::EINVAL) };
        // SAFETY: the caller's variable.
        unsafe { *into = shown(timer) };
        0
    }

    fn timer_getoverrun(id: usize) -> c_int {
        sched::enter_kernel();
        match find(id).and_then(|(timer, _)| with(timer, |t| t.overrun)) {
            Some(overrun) => overrun.min(i32::MAX as u64) as c_int,
            None => failed(libc::EINVAL),
        }
    }
}
