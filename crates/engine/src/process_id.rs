// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process ID that the program sees: the same in each run, as programs seed random numbers and name files by it. The
//! kernel's is another each time.
use crate::sys;
use libc::pid_t;

/// The program's process, and its first thread: above the largest that Linux gives, 4,194,303, so that no call that takes one
/// means another process.
pub const OWN: pid_t = 4_200_000;
/// The process that began it.
pub const PARENT: pid_t = OWN - 1;

/// The ID of a process or a group as the kernel has it.
pub fn to_kernel(seen: pid_t) -> pid_t {
    match seen {
        OWN => sys::process(),
        PARENT => sys::parent(),
        _ => seen,
    }
}

/// The same of what is a group if it is negative.
pub fn of_either(id: pid_t, translate: impl Fn(pid_t) -> pid_t) -> pid_t {
    if id < 0 { -translate(id.wrapping_neg()) } else { translate(id) }
}

/// The ID of a process or a group as the program sees it.
pub fn seen(kernels: pid_t) -> pid_t {
    match kernels {
        _ if kernels == sys::process() => OWN,
        _ if kernels == sys::parent() => PARENT,
        _ => kernels,
    }
}
