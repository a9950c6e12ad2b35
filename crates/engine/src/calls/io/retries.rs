// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that block on what the kernel says no readiness of, file locks and System V's messages and
//! semaphores: they are made without blocking, now and then, until they succeed.
use super::{TRY_AGAIN_NS, await_ready, changed, descriptors};
use crate::calls::clock;
use crate::calls::sleep;
use crate::engine::now;
use crate::scheduling::sched;
use crate::stand_in::{failed, result, stand_ins};
use crate::sys;
use alloc::vec::Vec;
use core::ffi::{c_int, c_long, c_uint, c_void};

/// Makes a call until it does not fail with `busy`; only once if it is not to wait.
fn retry(waits: bool, busy: c_int, attempt: impl Fn() -> i64) -> i64 {
    sched::enter_kernel();
    loop {
        let code = attempt();
        if !waits || code != -i64::from(busy) {
            return code;
        }
        if sleep::until(now() + clock::ticks_of(TRY_AGAIN_NS)).is_err() {
            return -i64::from(libc::EINTR);
        }
    }
}

/// Locks of an open file: what another thread of the program holds keeps this one waiting.
fn control(fd: c_int, command: c_int, argument: u64) -> i64 {
    let (attempt, waits) = match command {
        libc::F_OFD_SETLKW => (libc::F_OFD_SETLK, true),
        _ => (command, false),
    };
    let code = retry(waits, libc::EAGAIN, || {
        // SAFETY: the program's own call.
        unsafe { sys::syscall!(libc::SYS_fcntl, fd, attempt, argument; 0, 0, 0) }
    });
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => descriptors::copied(fd, code as c_int).into(),
        _ => code,
    }
}

stand_ins! {
    fn flock(fd: c_int, operation: c_int) -> c_int {
        let waits = operation & libc::LOCK_NB == 0;
        result(retry(waits, libc::EWOULDBLOCK, || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_flock, fd, operation | libc::LOCK_NB; 0, 0, 0, 0) }
        })) as c_int
    }

    fn fcntl(fd: c_int, command: c_int, argument: u64) -> c_int {
        let code = control(fd, command, argument);
        changed();
        result(code) as c_int
    }

    fn fcntl64(fd: c_int, command: c_int, argument: u64) -> c_int {
        let code = control(fd, command, argument);
        changed();
        result(code) as c_int
    }

    fn msgsnd(queue: c_int, message: *const c_void, bytes: usize, flags: c_int) -> c_int {
        result(retry(flags & libc::IPC_NOWAIT == 0, libc::EAGAIN, || {
            let flags = flags | libc::IPC_NOWAIT;
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_msgsnd, queue, message, bytes, flags; 0, 0) }
        })) as c_int
    }

    fn msgrcv(queue: c_int, message: *mut c_void, bytes: usize, kind: c_long, flags: c_int) -> isize {
        result(retry(flags & libc::IPC_NOWAIT == 0, libc::ENOMSG, || {
            let flags = flags | libc::IPC_NOWAIT;
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_msgrcv, queue, message, bytes, kind, flags; 0) }
        }))
    }

    fn semop(set: c_int, operations: *const libc::sembuf, count: usize) -> c_int {
        // SAFETY: the caller's list.
        let mut list: Vec<libc::sembuf> = (0..count).map(|i| unsafe { *operations.add(i) }).collect();
        let waits = list.iter().all(|o| c_int::from(o.sem_flg) & libc::IPC_NOWAIT == 0);
        list.iter_mut().for_each(|o| o.sem_flg |= libc::IPC_NOWAIT as i16);
        result(retry(waits, libc::EAGAIN, || {
            // SAFETY: the program's own call, on a copy.
            unsafe { sys::syscall!(libc::SYS_semop, set, list.as_ptr(), list.len(); 0, 0, 0) }
        })) as c_int
    }

    /// A POSIX message queue is a descriptor, which can be polled.
    fn mq_receive(queue: c_int, into: *mut c_void, bytes: usize, priority: *mut c_uint) -> isize {
        sched::enter_kernel();
        if let Err(error) = await_ready(queue, libc::POLLIN, None, "mq_receive") {
            return failed(error) as isize;
        }
        let got = own(queue, into, bytes, priority);
        changed();
        got
    }

    fn mq_send(queue: c_int, from: *const c_void, bytes: usize, priority: c_uint) -> c_int {
        sched::enter_kernel();
        if let Err(error) = await_ready(queue, libc::POLLOUT, None, "mq_send") {
            return failed(error);
        }
        let code = own(queue, from, bytes, priority);
        changed();
        code
    }
}
