// SPDX-License-Identifier: MIT OR Apache-2.0
//! timerfd: the descriptor is really an event descriptor, which counts the times that the timer fired and
//! can be read and polled as a timer's can.
use crate::calls::io;
use crate::calls::io::timer_table::{Known, add, find};
use crate::scheduling::sched;
use crate::stand_in::{failed, result, stand_ins};
use crate::sys;
use crate::threads::clock;
use crate::threads::timers::{Counts, Event, arm, create, disarm, first, shown, times_in, with};
use core::ffi::c_int;

/// The timer of our copy `fd` has fired so many times.
pub fn count(fd: c_int, times: u64) {
    sys::write(fd, &times.to_ne_bytes());
    io::changed();
}

fn is_clock(id: c_int) -> bool {
    let clocks = [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC, libc::CLOCK_BOOTTIME];
    clocks.contains(&id) || id == libc::CLOCK_REALTIME_ALARM || id == libc::CLOCK_BOOTTIME_ALARM
}

/// What the program has not read of the count is gone.
fn drain(ours: c_int) {
    let mut count = [0; 8];
    sys::read(ours, &mut count);
}

/// Ours lies beyond what programs expect to be given.
const OURS: c_int = 700;

stand_ins! {
    fn timerfd_create(id: c_int, flags: c_int) -> c_int {
        sched::enter_kernel();
        if !is_clock(id) || flags & !(libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) != 0 {
            return failed(libc::EINVAL);
        }
        // SAFETY: a new descriptor, and a copy of it. One that is not to block must be so for us only.
        let (fd, ours) = unsafe {
            let fd = sys::syscall!(libc::SYS_eventfd2, 0, flags; 0, 0, 0, 0);
            if fd < 0 {
                return result(fd) as c_int;
            }
            (fd, sys::syscall!(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, OURS; 0, 0, 0))
        };
        if ours < 0 {
            sys::close(fd as c_int);
            return failed(libc::EMFILE);
        }
        let timer = create(Counts::Time, Event::Descriptor(ours as c_int));
        add(Known { fd: fd as c_int, timer, clock: id });
        io::remember_event(fd as c_int);
        fd as c_int
    }

    fn timerfd_settime(fd: c_int, flags: c_int, new: *const libc::itimerspec, old: *mut libc::itimerspec) -> c_int {
        sched::enter_kernel();
        let Some((timer, id)) = find(fd) else { return failed(libc::EINVAL) };
        // SAFETY: the caller's variables.
        let Some((value, interval)) = (unsafe { new.as_ref() }).and_then(times_in) else { return failed(libc::EINVAL) };
        if !old.is_null() {
            // SAFETY: as above.
            unsafe { *old = shown(timer) };
        }
        if let Some(Event::Descriptor(ours)) = with(timer, |t| t.event)
            && io::is_ready(ours, libc::POLLIN)
        {
            drain(ours);
        }
        let absolute = flags & libc::TFD_TIMER_ABSTIME != 0;
        match value {
            0 => disarm(timer),
            _ => arm(timer, first(Counts::Time, id, absolute, value), clock::ticks_of(interval)),
        }
        0
    }

    fn timerfd_gettime(fd: c_int, into: *mut libc::itimerspec) -> c_int {
        sched::enter_kernel();
        let Some((timer, _)) = find(fd) else { return failed(libc::EINVAL) };
        // SAFETY: the caller's variable.
        unsafe { *into = shown(timer) };
        0
    }
}
