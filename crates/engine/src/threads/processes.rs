// SPDX-License-Identifier: MIT OR Apache-2.0
//! IDs of processes, groups and threads: the program sees its own as `process_id` has them, and other processes' as they
//! are. Libraries call these in their constructors already, before the run begins.
use crate::account::host;
use crate::engine::active;
use crate::process_id::{self, OWN, PARENT};
use crate::real::real;
use crate::scheduling::{peek, sched};
use crate::stand_in::failed;
use crate::sys;
use crate::threads::{affinity, cpus};
use crate::trampoline::{Arguments, always_before};
use core::ffi::{c_int, c_ulong, c_void};
use libc::pid_t;

/// The kernel's ID of a process, or of the one that a thread of the program is in: a thread that the kernel does not know.
pub fn to_kernel(seen: pid_t) -> pid_t {
    if seen != 0 && affinity::numbered(seen).is_some() { sys::process() } else { process_id::to_kernel(seen) }
}

/// Are IDs that the program sees not the kernel's? They are where nothing is simulated nor will be.
pub fn are_virtual() -> bool {
    cpus::count().is_some()
}

/// The ID of a process or a group as the program sees it.
pub fn seen(kernels: pid_t) -> pid_t {
    if are_virtual() { process_id::seen(kernels) } else { kernels }
}

/// The kernel has put the ID of a process, or of a group below zero, there.
pub fn see(at: *mut pid_t) {
    if let Some(id) = peek::fetch(at) {
        peek::put(at, process_id::of_either(id, seen));
    }
}

fn enter() {
    if active() {
        sched::enter_kernel();
    }
}

/// What a call tells of itself.
macro_rules! own_ids {
    ($(fn $name:ident() = $seen:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> pid_t {
            real! { fn $name() -> pid_t; }
            if !are_virtual() {
                return $name();
            }
            enter();
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

/// Calls that take IDs, or tell some.
macro_rules! with_ids {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> $result {
            #[allow(clippy::too_many_arguments)]
            fn own($($arg: $type),*) -> $result {
                real! { fn $name($($arg: $type),*) -> $result; }
                $name($($arg),*)
            }
            enter();
            $body
        }
    )*};
}

with_ids! {
    fn getpgid(process: pid_t) -> pid_t {
        seen(own(to_kernel(process)))
    }

    /// The session is that of the program's parent, which began no other: 0 where it was begun outside the container.
    fn getsid(process: pid_t) -> pid_t {
        let session = own(to_kernel(process));
        let is_parents = session >= 0 && session != sys::process() && session == own(0);
        if is_parents && are_virtual() { PARENT } else { seen(session) }
    }

    fn tcgetpgrp(fd: c_int) -> pid_t {
        seen(own(fd))
    }

    fn tcsetpgrp(fd: c_int, group: pid_t) -> c_int {
        own(fd, process_id::to_kernel(group))
    }

    fn setpgid(process: pid_t, group: pid_t) -> c_int {
        own(process_id::to_kernel(process), process_id::to_kernel(group))
    }

    /// Who is at the other end of a socket: often the program itself.
    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, bytes: *mut u32) -> c_int {
        let code = own(fd, level, name, value, bytes);
        let tells = code == 0 && level == libc::SOL_SOCKET && name == libc::SO_PEERCRED;
        if tells && peek::fetch(bytes).is_some_and(|bytes| bytes as usize >= size_of::<pid_t>()) {
            see(value.cast());
        }
        code
    }

    fn clock_getcpuclockid(process: pid_t, into: *mut c_int) -> c_int {
        if !active() || process != 0 && process != OWN {
            return own(process_id::to_kernel(process), into);
        }
        // SAFETY: the caller's variable.
        unsafe { *into = libc::CLOCK_PROCESS_CPUTIME_ID };
        0
    }

    fn capget(header: *mut Capable, data: *mut c_void) -> c_int {
        of_capable(header, |header| own(header, data))
    }

    fn capset(header: *mut Capable, data: *mut c_void) -> c_int {
        of_capable(header, |header| own(header, data))
    }

    /// The owner of a socket, whom the kernel sends signals about it; of a terminal, its group.
    fn ioctl(fd: c_int, request: c_ulong, argument: u64) -> c_int {
        if active() {
            host::count("ioctl");
        }
        match request {
            FIOSETOWN | SIOCSPGRP | libc::TIOCSPGRP if are_virtual() => {
                let Some(id) = peek::fetch(argument as *const pid_t) else { return failed(libc::EFAULT) };
                let id = process_id::of_either(id, to_kernel);
                own(fd, request, &raw const id as u64)
            }
            FIOGETOWN | SIOCGPGRP | libc::TIOCGPGRP | libc::TIOCGSID => {
                let code = own(fd, request, argument);
                if code == 0 {
                    see(argument as *mut pid_t);
                }
                code
            }
            _ => own(fd, request, argument),
        }
    }
}

const FIOSETOWN: c_ulong = 0x8901;
const SIOCSPGRP: c_ulong = 0x8902;
const FIOGETOWN: c_ulong = 0x8903;
const SIOCGPGRP: c_ulong = 0x8904;

/// The kernel's `struct __user_cap_header_struct`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Capable {
    version: u32,
    process: pid_t,
}

/// The kernel puts the version that it knows into the header of a call with another.
fn of_capable(header: *mut Capable, call: impl FnOnce(*mut Capable) -> c_int) -> c_int {
    let named = if are_virtual() { peek::fetch(header) } else { None };
    let Some(named) = named else { return call(header) };
    let mut kernels = Capable { process: to_kernel(named.process), ..named };
    let code = call(&mut kernels);
    peek::put(header, Capable { process: named.process, ..kernels });
    code
}

/// A call of another process, or of this one, by the ID that comes first.
pub extern "C" fn of_process(arguments: &mut Arguments, _pc: u64) {
    enter();
    arguments.rdi = to_kernel(arguments.rdi as pid_t) as u64;
}

/// The same where a thread's ID is no process's.
pub extern "C" fn of_process_alone(arguments: &mut Arguments, _pc: u64) {
    enter();
    arguments.rdi = process_id::to_kernel(arguments.rdi as pid_t) as u64;
}

always_before! {
    crate::threads::processes::of_process => sched_rr_get_interval process_vm_readv process_vm_writev;
    crate::threads::processes::of_process_alone => pidfd_open;
}
