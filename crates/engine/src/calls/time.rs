// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading clocks: all show virtual time. A clock is read in user space, through the vDSO, so that it
//! costs little and lets nobody else go first.
use crate::engine::{charge, launch};
use crate::stand_in::{failed, stand_ins};
use crate::threads::clock::{self, EPOCH_SECONDS, NANOSECONDS};
use core::ffi::{c_int, c_long, c_void};

fn charge_read() {
    charge(launch().machine.system.clock_read);
}

/// Linux's `USER_HZ`: what `times` counts in.
const TICKS_A_SECOND: u64 = 100;

stand_ins! {
    fn clock_gettime(id: c_int, into: *mut libc::timespec) -> c_int {
        charge_read();
        let Some(nanoseconds) = clock::read(id) else { return failed(libc::EINVAL) };
        // SAFETY: the caller's variable.
        unsafe { *into = clock::timespec(nanoseconds) };
        0
    }

    fn clock_getres(id: c_int, into: *mut libc::timespec) -> c_int {
        charge_read();
        if clock::read(id).is_none() {
            return failed(libc::EINVAL);
        }
        if !into.is_null() {
            // SAFETY: the caller's variable.
            unsafe { *into = clock::timespec(1) };
        }
        0
    }

    fn clock_settime(id: c_int, to: *const libc::timespec) -> c_int {
        // SAFETY: the caller's variable.
        let is_time = (0..NANOSECONDS as i64).contains(&unsafe { (*to).tv_nsec });
        let can_be_set = matches!(id, libc::CLOCK_REALTIME | libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID);
        failed(if is_time && can_be_set { libc::EPERM } else { libc::EINVAL })
    }

    fn gettimeofday(into: *mut libc::timeval, zone: *mut c_void) -> c_int {
        charge_read();
        let microseconds = clock::nanoseconds() / 1000;
        // SAFETY: the caller's variables; a `struct timezone` is two ints.
        unsafe {
            if !into.is_null() {
                (*into).tv_sec = EPOCH_SECONDS + (microseconds / 1_000_000) as i64;
                (*into).tv_usec = (microseconds % 1_000_000) as i64;
            }
            if !zone.is_null() {
                *zone.cast::<[c_int; 2]>() = [0, 0];
            }
        }
        0
    }

    fn time(into: *mut i64) -> i64 {
        charge_read();
        let seconds = EPOCH_SECONDS + (clock::nanoseconds() / NANOSECONDS) as i64;
        if !into.is_null() {
            // SAFETY: the caller's variable.
            unsafe { *into = seconds };
        }
        seconds
    }

    fn timespec_get(into: *mut libc::timespec, base: c_int) -> c_int {
        const TIME_UTC: c_int = 1;
        if base != TIME_UTC {
            return 0;
        }
        clock_gettime(libc::CLOCK_REALTIME, into);
        base
    }

    /// Microseconds of CPU time.
    fn clock() -> c_long {
        charge_read();
        (clock::nanoseconds_of(clock::process_ran()) / 1000) as c_long
    }

    fn times(into: *mut libc::tms) -> c_long {
        crate::scheduling::sched::enter_kernel();
        let ran = clock::nanoseconds_of(clock::process_ran()) / (NANOSECONDS / TICKS_A_SECOND);
        if !into.is_null() {
            // SAFETY: the caller's variable.
            unsafe { *into = libc::tms { tms_utime: ran as i64, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 } };
        }
        (clock::uptime() / (NANOSECONDS / TICKS_A_SECOND)) as c_long
    }

    /// The host's page faults and switches say nothing of the simulated machine, and differ from run to
    /// run: all but CPU time is zero.
    fn getrusage(who: c_int, into: *mut libc::rusage) -> c_int {
        crate::scheduling::sched::enter_kernel();
        let clock = match who {
            libc::RUSAGE_SELF => libc::CLOCK_PROCESS_CPUTIME_ID,
            libc::RUSAGE_THREAD => libc::CLOCK_THREAD_CPUTIME_ID,
            _ => return own(who, into),
        };
        let microseconds = clock::read(clock).unwrap_or(0) / 1000;
        // SAFETY: the caller's variable; a zeroed one is valid.
        unsafe {
            *into = core::mem::zeroed();
            (*into).ru_utime.tv_sec = (microseconds / 1_000_000) as i64;
            (*into).ru_utime.tv_usec = (microseconds % 1_000_000) as i64;
        }
        0
    }

    fn pthread_getcpuclockid(thread: libc::pthread_t, into: *mut c_int) -> c_int {
        let Some(fiber) = crate::scheduling::lookup::find(thread) else { return libc::ESRCH };
        // SAFETY: the caller's variable.
        unsafe { *into = clock::of_thread(fiber) };
        0
    }
}
