// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making and ending connections.
use super::descriptors::option;
use super::loopback;
use super::retries::{Object, Tries, retry};
use super::sockets::deadline;
use super::waiting::{await_ready, blocks, changed};
use crate::scheduling::sched;
use crate::stand_in::{failed, result, stand_ins, stand_ins_at};
use crate::sys;
use core::ffi::{c_int, c_void};

const BACKLOG: c_int = 4096;

fn accept_next(fd: c_int, name: *mut c_void, room: *mut u32, flags: c_int, call: &'static str) -> c_int {
    sched::enter_kernel();
    if let Err(error) = await_ready(fd, libc::POLLIN, deadline(fd, libc::SO_RCVTIMEO), call) {
        return failed(error);
    }
    // SAFETY: the program's own call.
    let got = unsafe { sys::syscall!(libc::SYS_accept4, fd, name, room, flags; 0, 0) };
    changed();
    result(got) as c_int
}

/// One attempt that does not block, whatever the socket's mode.
fn attempt(fd: c_int, name: *const c_void, room: u32) -> i64 {
    // SAFETY: the program's own call.
    super::waiting::without_blocking(fd, || unsafe { sys::syscall!(libc::SYS_connect, fd, name, room; 0, 0, 0) })
}

/// Where the server's backlog is full, of which the kernel says no more, it is tried again.
fn connect_blocking(fd: c_int, name: *const c_void, room: u32, pc: u64) -> i64 {
    const FULL: c_int = libc::EAGAIN;
    const UNDER_WAY: i64 = -(libc::EINPROGRESS as i64);
    let limit = deadline(fd, libc::SO_SNDTIMEO);
    let tries = limit.map_or(Tries::Forever, Tries::Until);
    let server = Object::backlog("connect", fd, pc, limit.is_none());
    let code = retry(tries, server, FULL, || attempt(fd, name, room));
    if code != UNDER_WAY {
        return code;
    }
    loopback::settle(fd);
    changed();
    match await_ready(fd, libc::POLLOUT, limit, "connect") {
        Err(libc::EAGAIN) => UNDER_WAY,
        Err(error) => -i64::from(error),
        Ok(()) => -i64::from(option::<c_int>(fd, libc::SO_ERROR, 0).unwrap_or(0)),
    }
}

stand_ins_at! {
    "rcx" fn connect(fd: c_int, name: *const c_void, room: u32; pc) -> c_int {
        let code = if blocks(fd) {
            connect_blocking(fd, name, room, pc)
        } else {
            sched::enter_kernel();
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_connect, fd, name, room; 0, 0, 0) }
        };
        loopback::settle(fd);
        changed();
        result(code) as c_int
    }
}

stand_ins! {
    fn accept(fd: c_int, name: *mut c_void, room: *mut u32) -> c_int {
        accept_next(fd, name, room, 0, "accept")
    }

    fn accept4(fd: c_int, name: *mut c_void, room: *mut u32, flags: c_int) -> c_int {
        accept_next(fd, name, room, flags, "accept4")
    }

    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
        sched::enter_kernel();
        loopback::socket_made(domain);
        own(domain, kind, protocol)
    }

    /// With room for more than is asked, unless by a socket with a name in the file system: who finds another's backlog full
    /// tries again by the host's clock.
    fn listen(fd: c_int, backlog: c_int) -> c_int {
        sched::enter_kernel();
        let is_local = option(fd, libc::SO_DOMAIN, 0) == Some(libc::AF_UNIX);
        own(fd, if is_local { backlog } else { backlog.max(BACKLOG) })
    }

    fn shutdown(fd: c_int, how: c_int) -> c_int {
        sched::enter_kernel();
        let code = own(fd, how);
        loopback::settle(fd);
        changed();
        code
    }
}
