// SPDX-License-Identifier: MIT OR Apache-2.0
//! IDs of processes, groups and threads: the program sees its own as `process_id` has them, and other processes' as they
//! are.
use crate::engine::active;
use crate::passing::{Arguments, before};
use crate::process_id::{self, OWN, PARENT};
use crate::real::real;
use crate::scheduling::sched;
use crate::stand_in::stand_ins;
use crate::sys;
use crate::threads::{affinity, cpus};
use core::ffi::{c_int, c_void};
use libc::pid_t;

/// The kernel's ID of a process, or of the one that a thread of the program is in: a thread that the kernel does not know.
pub fn to_kernel(seen: pid_t) -> pid_t {
    match affinity::numbered(seen) {
        Some(_) if seen != 0 => sys::process(),
        _ => process_id::to_kernel(seen),
    }
}

/// What a call tells of itself; libraries ask in their constructors already, before the run begins.
macro_rules! own_ids {
    ($(fn $name:ident() = $seen:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> pid_t {
            real! { fn $name() -> pid_t; }
            if cpus::count().is_none() {
                return $name();
            }
            if active() {
                sched::enter_kernel();
            }
            $seen
        }
    )*};
}

own_ids! {
    fn getpid() = OWN;
    fn getppid() = PARENT;
    fn getpgrp() = process_id::seen(getpgrp());
    fn gettid() = if active() { affinity::own_number() } else { OWN };
}

stand_ins! {
    fn getpgid(process: pid_t) -> pid_t {
        sched::enter_kernel();
        process_id::seen(own(to_kernel(process)))
    }

    /// The session is that of the program's parent, which began no other: 0 where it was begun outside the container.
    fn getsid(process: pid_t) -> pid_t {
        sched::enter_kernel();
        let session = own(to_kernel(process));
        let is_parents = session >= 0 && session != sys::process() && session == own(0);
        if is_parents { PARENT } else { process_id::seen(session) }
    }

    fn tcgetpgrp(fd: c_int) -> pid_t {
        sched::enter_kernel();
        process_id::seen(own(fd))
    }

    fn tcsetpgrp(fd: c_int, group: pid_t) -> c_int {
        sched::enter_kernel();
        own(fd, process_id::to_kernel(group))
    }

    fn setpgid(process: pid_t, group: pid_t) -> c_int {
        sched::enter_kernel();
        own(process_id::to_kernel(process), process_id::to_kernel(group))
    }

    fn getpriority(which: u32, who: u32) -> c_int {
        sched::enter_kernel();
        own(which, if which == libc::PRIO_USER { who } else { to_kernel(who as pid_t) as u32 })
    }

    /// Who is at the other end of a socket: often the program itself.
    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, bytes: *mut u32) -> c_int {
        sched::enter_kernel();
        let code = own(fd, level, name, value, bytes);
        if code == 0 && level == libc::SOL_SOCKET && name == libc::SO_PEERCRED {
            // SAFETY: the kernel has written so many bytes there.
            unsafe {
                if *bytes as usize >= size_of::<pid_t>() {
                    let process = value.cast::<pid_t>();
                    process.write_unaligned(process_id::seen(process.read_unaligned()));
                }
            }
        }
        code
    }
}

/// A call of another process, or of this one, by the ID that comes first.
pub extern "C" fn of_process(arguments: &mut Arguments, _pc: u64) {
    sched::enter_kernel();
    arguments.rdi = to_kernel(arguments.rdi as pid_t) as u64;
}

/// The same where a thread's ID is no process's.
pub extern "C" fn of_process_alone(arguments: &mut Arguments, _pc: u64) {
    sched::enter_kernel();
    arguments.rdi = process_id::to_kernel(arguments.rdi as pid_t) as u64;
}

before! {
    crate::threads::processes::of_process => sched_rr_get_interval process_vm_readv process_vm_writev;
    crate::threads::processes::of_process_alone => pidfd_open;
}
