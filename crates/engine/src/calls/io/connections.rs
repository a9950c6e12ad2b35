// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making and ending connections.
use super::descriptors::option;
use super::loopback;
use super::sockets::{deadline, persist};
use super::waiting::{await_ready, blocks, changed};
use crate::calls::sleep;
use crate::engine::now;
use crate::scheduling::sched;
use crate::stand_in::{failed, result, stand_ins};
use crate::sys;
use crate::threads::clock;
use core::ffi::{c_int, c_uint, c_void};

/// Between two tries of a connection to a socket whose backlog is full, of which the kernel says no more.
const TRY_AGAIN_NS: u64 = 20_000;

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

fn connect_blocking(fd: c_int, name: *const c_void, room: u32) -> i64 {
    const FULL: i64 = -(libc::EAGAIN as i64);
    const UNDER_WAY: i64 = -(libc::EINPROGRESS as i64);
    let limit = deadline(fd, libc::SO_SNDTIMEO);
    loop {
        match attempt(fd, name, room) {
            FULL if limit.is_none_or(|limit| now() < limit) => {
                if sleep::until(now() + clock::ticks_of(TRY_AGAIN_NS)).is_err() {
                    return -i64::from(libc::EINTR);
                }
            }
            UNDER_WAY => {
                loopback::settle(fd);
                changed();
                match await_ready(fd, libc::POLLOUT, limit, "connect") {
                    Err(libc::EAGAIN) => return UNDER_WAY,
                    Err(error) => return -i64::from(error),
                    Ok(()) => {}
                }
                return -i64::from(option::<c_int>(fd, libc::SO_ERROR, 0).unwrap_or(0));
            }
            code => return code,
        }
    }
}

stand_ins! {
    fn accept(fd: c_int, name: *mut c_void, room: *mut u32) -> c_int {
        accept_next(fd, name, room, 0, "accept")
    }

    fn accept4(fd: c_int, name: *mut c_void, room: *mut u32, flags: c_int) -> c_int {
        accept_next(fd, name, room, flags, "accept4")
    }

    fn connect(fd: c_int, name: *const c_void, room: u32) -> c_int {
        sched::enter_kernel();
        let code = if blocks(fd) {
            connect_blocking(fd, name, room)
        } else {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_connect, fd, name, room; 0, 0, 0) }
        };
        loopback::settle(fd);
        changed();
        result(code) as c_int
    }

    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
        sched::enter_kernel();
        loopback::socket_made(domain);
        own(domain, kind, protocol)
    }

    /// With room for more than is asked: who finds a full backlog tries again by the host's clock.
    fn listen(fd: c_int, backlog: c_int) -> c_int {
        sched::enter_kernel();
        own(fd, backlog.max(BACKLOG))
    }

    fn shutdown(fd: c_int, how: c_int) -> c_int {
        sched::enter_kernel();
        let code = own(fd, how);
        loopback::settle(fd);
        changed();
        code
    }

    /// As many as are there, at least one: `MSG_WAITFORONE` is always on.
    fn recvmmsg(fd: c_int, list: *mut c_void, count: c_uint, flags: c_int, _limit: *mut libc::timespec) -> c_int {
        sched::enter_kernel();
        let got = persist(fd, libc::POLLIN, flags, "recvmmsg", || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_recvmmsg, fd, list, count, flags | libc::MSG_DONTWAIT, 0u64; 0) }
        });
        changed();
        result(got) as c_int
    }

    fn sendmmsg(fd: c_int, list: *mut c_void, count: c_uint, flags: c_int) -> c_int {
        sched::enter_kernel();
        let put = persist(fd, libc::POLLOUT, flags, "sendmmsg", || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_sendmmsg, fd, list, count, flags | libc::MSG_DONTWAIT; 0, 0) }
        });
        loopback::settle(fd);
        changed();
        result(put) as c_int
    }
}
