// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of the process's memory, which do not limit the simulated machine's: the runtime's own memory would count as the
//! program's. What is set is kept and told, and has no effect. Other limits are the kernel's.
use crate::account::host;
use crate::carrier::Carrier;
use crate::engine::note;
use crate::scheduling::sched;
use crate::stacks::STACK;
use crate::stand_in::{as_errno, failed, stand_ins_at};
use crate::threads::affinity;
use crate::threads::processes;
use core::ffi::c_int;
use libc::{MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT, RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK, pid_t, rlimit};

const NONE: rlimit = rlimit { rlim_cur: RLIM_INFINITY, rlim_max: RLIM_INFINITY };
/// Of address space, data, and the first thread's stack.
static KEPT: Carrier<[rlimit; 3]> = Carrier::new([NONE, NONE, rlimit { rlim_cur: STACK, ..NONE }]);

fn kept(resource: c_int) -> Option<usize> {
    [RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK].iter().position(|known| *known as c_int == resource)
}

/// Gives the old limit and takes the new one. Returns the error.
fn exchange(kept: usize, new: *const rlimit, old: *mut rlimit, pc: u64) -> c_int {
    sched::enter_kernel();
    // SAFETY: the caller's variables, or null.
    let (new, old) = unsafe { (new.as_ref().copied(), old.as_mut()) };
    let known = KEPT.with(|limits| limits[kept]);
    if let Some(new) = new {
        if new.rlim_cur > new.rlim_max {
            return libc::EINVAL;
        }
        if new.rlim_max > known.rlim_max {
            return libc::EPERM;
        }
        note("limits of the process's memory (setrlimit) have no effect in the simulation", pc);
        KEPT.with(|limits| limits[kept] = new);
    }
    if let Some(old) = old {
        *old = known;
    }
    0
}

/// What all of them do: our own answer for the calling process, or libc's.
fn limit(
    process: pid_t,
    resource: c_int,
    (new, old): (*const rlimit, *mut rlimit),
    pc: u64,
    own: impl FnOnce() -> c_int,
) -> c_int {
    match kept(resource) {
        Some(kept) if affinity::numbered(process).is_some() => as_errno(exchange(kept, new, old, pc)),
        _ => {
            host::count("prlimit");
            sched::enter_kernel();
            own()
        }
    }
}

macro_rules! limits {
    ($get:ident $set:ident $both:ident) => {
        stand_ins_at! {
            "rdx" fn $get(resource: c_int, old: *mut rlimit; pc) -> c_int {
                limit(0, resource, (core::ptr::null(), old), pc, || own(resource, old))
            }

            "rdx" fn $set(resource: c_int, new: *const rlimit; pc) -> c_int {
                limit(0, resource, (new, core::ptr::null_mut()), pc, || own(resource, new))
            }

            "r8" fn $both(process: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit; pc) -> c_int => {
                own(processes::to_kernel(process), resource, new, old)
            } {
                limit(process, resource, (new, old), pc, || own(processes::to_kernel(process), resource, new, old))
            }
        }
    };
}
limits! { getrlimit setrlimit prlimit }
limits! { getrlimit64 setrlimit64 prlimit64 }

stand_ins_at! {
    // They would keep the runtime's memory, too, which is a large part of the address space.
    "rsi" fn mlockall(flags: c_int; pc) -> c_int {
        let _ = pc;
        sched::enter_kernel();
        let known = flags & !(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
        if known && flags & (MCL_CURRENT | MCL_FUTURE) != 0 { 0 } else { failed(libc::EINVAL) }
    }

    "rdi" fn munlockall(; pc) -> c_int {
        let _ = pc;
        sched::enter_kernel();
        0
    }
}
