// SPDX-License-Identifier: MIT OR Apache-2.0
//! What files are. The times of those that the run has made or changed are the host's, which differ from run to run: the
//! program sees them as of the run's first second.
use super::shown::instead;
use crate::account::host;
use crate::carrier::Carrier;
use crate::scheduling::sched;
use crate::stand_in::stand_ins;
use crate::threads::clock::EPOCH_SECONDS;
use core::ffi::{c_char, c_int, c_uint};
use libc::AT_FDCWD;

/// The host's clock a moment before the run began: the kernel notes a file's times by its last tick.
static BEGAN: Carrier<(i64, i64)> = Carrier::new((i64::MAX, 0));
const MOMENT_NS: i64 = 20_000_000;

pub fn begin() {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a variable of our own.
    if unsafe { crate::sys::syscall!(libc::SYS_clock_gettime, libc::CLOCK_REALTIME, &raw mut now; 0, 0, 0, 0) } == 0 {
        let nanoseconds = now.tv_nsec - MOMENT_NS;
        let before =
            if nanoseconds < 0 { (now.tv_sec - 1, nanoseconds + 1_000_000_000) } else { (now.tv_sec, nanoseconds) };
        BEGAN.with(|began| *began = before);
    }
}

/// The time that the program sees.
fn seen(seconds: i64, nanoseconds: i64) -> (i64, i64) {
    if BEGAN.with(|began| (seconds, nanoseconds) >= *began) { (EPOCH_SECONDS, 0) } else { (seconds, nanoseconds) }
}

fn told(name: &'static str, own: impl FnOnce() -> c_int, into: *mut libc::stat) -> c_int {
    host::count(name);
    sched::enter_kernel();
    let code = own();
    // SAFETY: the kernel has filled the caller's variable.
    if let Some(status) = unsafe { into.as_mut() }.filter(|_| code == 0) {
        (status.st_atime, status.st_atime_nsec) = seen(status.st_atime, status.st_atime_nsec);
        (status.st_mtime, status.st_mtime_nsec) = seen(status.st_mtime, status.st_mtime_nsec);
        (status.st_ctime, status.st_ctime_nsec) = seen(status.st_ctime, status.st_ctime_nsec);
    }
    code
}

macro_rules! by_path {
    ($($name:ident)*) => { stand_ins! {$(
        fn $name(path: *const c_char, into: *mut libc::stat) -> c_int {
            told(stringify!($name), || own(instead(AT_FDCWD, path), into), into)
        }
    )*} };
}
by_path! { stat stat64 lstat lstat64 }

macro_rules! by_descriptor {
    ($($name:ident)*) => { stand_ins! {$(
        fn $name(fd: c_int, into: *mut libc::stat) -> c_int {
            told(stringify!($name), || own(fd, into), into)
        }
    )*} };
}
by_descriptor! { fstat fstat64 }

macro_rules! by_path_at {
    ($($name:ident)*) => { stand_ins! {$(
        fn $name(directory: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int) -> c_int {
            told(stringify!($name), || own(directory, instead(directory, path), into, flags), into)
        }
    )*} };
}
by_path_at! { fstatat fstatat64 }

stand_ins! {
    fn statx(directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, into: *mut libc::statx) -> c_int {
        host::count("statx");
        sched::enter_kernel();
        let code = own(directory, instead(directory, path), flags, mask, into);
        // SAFETY: the kernel has filled the caller's variable.
        if let Some(status) = unsafe { into.as_mut() }.filter(|_| code == 0) {
            for time in [&mut status.stx_atime, &mut status.stx_btime, &mut status.stx_ctime, &mut status.stx_mtime] {
                let (seconds, nanoseconds) = seen(time.tv_sec, time.tv_nsec.into());
                (time.tv_sec, time.tv_nsec) = (seconds, nanoseconds as u32);
            }
        }
        code
    }
}
