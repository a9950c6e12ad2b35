// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loopback connections between threads of the program. What is sent there arrives when the host's kernel
//! gets round to it, mostly before the call returns, but not always; the run must not depend on which.
//!
//! A kernel's CPU delivers loopback packets in the order in which they were sent. So a packet of our own,
//! sent to ourselves behind the program's, says when those have arrived.
use crate::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Has the program made a socket of the Internet's families?
static USED: AtomicBool = AtomicBool::new(false);
/// Our own socket, -1 before there is one, -2 if there cannot be.
static OWN: AtomicI32 = AtomicI32::new(-1);

const NONE_YET: c_int = -1;
const NONE_EVER: c_int = -2;
/// Our descriptor lies above those that a program counts on getting.
const LOWEST: c_int = 700;
/// A packet that arrives may cause another, as a connection's second calls for its third.
const HOPS: usize = 3;
/// Milliseconds after which a packet is taken for lost.
const PATIENCE: c_int = 50;

pub fn socket_made(domain: c_int) {
    if is_internet(domain) {
        USED.store(true, Ordering::Relaxed);
    }
}

fn is_internet(domain: c_int) -> bool {
    domain == libc::AF_INET || domain == libc::AF_INET6
}

/// Something was done to a socket: returns when what that sends over loopback has arrived.
pub fn settle(fd: c_int) {
    if !USED.load(Ordering::Relaxed) || !super::descriptors::option(fd, libc::SO_DOMAIN, 0).is_some_and(is_internet) {
        return;
    }
    settle_all();
}

/// The same for a descriptor that is closed by now.
pub fn settle_all() {
    if !USED.load(Ordering::Relaxed) {
        return;
    }
    for _ in 0..HOPS {
        let own = own_socket();
        if own < 0 || !send_to_self(own) {
            return OWN.store(NONE_EVER, Ordering::Relaxed);
        }
    }
}

fn own_socket() -> c_int {
    if OWN.load(Ordering::Relaxed) == NONE_YET {
        OWN.store(make_socket().unwrap_or(NONE_EVER), Ordering::Relaxed);
    }
    OWN.load(Ordering::Relaxed)
}

/// A datagram socket that is connected to itself.
fn make_socket() -> Option<c_int> {
    let mut name = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: libc::INADDR_LOOPBACK.to_be() },
        sin_zero: [0; 8],
    };
    let mut room = size_of::<libc::sockaddr_in>() as u32;
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: descriptors of our own, and variables that outlive the calls.
    unsafe {
        let low = sys::syscall!(libc::SYS_socket, libc::AF_INET, kind, 0; 0, 0, 0);
        if low < 0 {
            return None;
        }
        let fd = sys::syscall!(libc::SYS_fcntl, low, libc::F_DUPFD_CLOEXEC, LOWEST; 0, 0, 0);
        sys::close(low as c_int);
        let at = &raw mut name;
        let done = [
            sys::syscall!(libc::SYS_bind, fd, at, room; 0, 0, 0),
            sys::syscall!(libc::SYS_getsockname, fd, at, &raw mut room; 0, 0, 0),
            sys::syscall!(libc::SYS_connect, fd, at, room; 0, 0, 0),
        ];
        (fd >= 0 && done == [0; 3]).then_some(fd as c_int)
    }
}

fn send_to_self(fd: c_int) -> bool {
    let mut byte = [0];
    sys::write(fd, &byte) == 1
        && sys::poll(&mut [super::waiting::pollfd(fd, libc::POLLIN)], PATIENCE) == 1
        && sys::read(fd, &mut byte) == 1
}
