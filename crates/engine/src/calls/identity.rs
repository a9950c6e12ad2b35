// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process's user and groups. The kernel keeps them for each thread, so libc sends all other threads a signal to change
//! theirs, too, and waits until they have.
use crate::fs_base::{read_fs, write_fs};
use crate::scheduling::fiber::FIBERS;
use crate::stand_in::{failed, stand_ins};
use core::ffi::c_int;
use libc::{gid_t, uid_t};

/// To the kernel, it is the carrier that calls: the main thread, however many simulated threads it runs. libc has to take it
/// for that, or it would wait for the signal that it sends to itself.
fn as_carrier(change: impl FnOnce() -> c_int) -> c_int {
    crate::scheduling::sched::enter_kernel();
    let own = read_fs();
    write_fs(FIBERS[0].fs.get());
    // SAFETY: the main thread's, which has not read it yet, perhaps.
    let (errno, before) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
    let result = change();
    // SAFETY: as above.
    let error = unsafe { errno.replace(before) };
    write_fs(own);
    if result == -1 { failed(error) } else { result }
}

stand_ins! {
    fn setuid(user: uid_t) -> c_int {
        as_carrier(|| own(user))
    }

    fn seteuid(user: uid_t) -> c_int {
        as_carrier(|| own(user))
    }

    fn setreuid(real: uid_t, effective: uid_t) -> c_int {
        as_carrier(|| own(real, effective))
    }

    fn setresuid(real: uid_t, effective: uid_t, saved: uid_t) -> c_int {
        as_carrier(|| own(real, effective, saved))
    }

    fn setgid(group: gid_t) -> c_int {
        as_carrier(|| own(group))
    }

    fn setegid(group: gid_t) -> c_int {
        as_carrier(|| own(group))
    }

    fn setregid(real: gid_t, effective: gid_t) -> c_int {
        as_carrier(|| own(real, effective))
    }

    fn setresgid(real: gid_t, effective: gid_t, saved: gid_t) -> c_int {
        as_carrier(|| own(real, effective, saved))
    }

    fn setgroups(count: usize, groups: *const gid_t) -> c_int {
        as_carrier(|| own(count, groups))
    }
}
