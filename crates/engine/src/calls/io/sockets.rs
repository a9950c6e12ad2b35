// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets: each call is made without blocking, and again when it may succeed.
use super::descriptors::option;
use super::loopback;
use super::parts::{Parts, advance, has_written, one, parts, total, will_read};
use super::waiting::{await_ready, blocks, changed, is_ready};
use crate::calls::sleep;
use crate::engine::{active, now};
use crate::entry::with_seventh;
use crate::real::real;
use crate::scheduling::fiber::Wait;
use crate::scheduling::{peek, sched};
use crate::stand_in::{failed, result, stand_ins, stand_ins_at};
use crate::sys;
use crate::threads::clock;
use core::ffi::{c_int, c_void};
use corefold_model::Ticks;

/// Between two tries of what the kernel says no readiness of: a datagram to a full socket.
const TRY_AGAIN_NS: u64 = 20_000;

/// When a call that begins now gives up, by `SO_RCVTIMEO` or `SO_SNDTIMEO`.
pub fn deadline(fd: c_int, name: c_int) -> Option<Ticks> {
    let limit = option(fd, name, libc::timeval { tv_sec: 0, tv_usec: 0 })?;
    let nanoseconds = limit.tv_sec as u64 * clock::NANOSECONDS + limit.tv_usec as u64 * 1000;
    (nanoseconds != 0).then(|| now().saturating_add(clock::ticks_of(nanoseconds)))
}

/// Makes the call `attempt`, which must not block, until it does not say that it would.
pub fn persist(fd: c_int, events: i16, flags: c_int, call: &'static str, mut attempt: impl FnMut() -> i64) -> i64 {
    const WOULD_BLOCK: i64 = -(libc::EAGAIN as i64);
    crate::threads::cancel::test();
    let mut code = attempt();
    if code != WOULD_BLOCK || flags & libc::MSG_DONTWAIT != 0 || !blocks(fd) {
        return code;
    }
    let limit = deadline(fd, if events == libc::POLLIN { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO });
    while code == WOULD_BLOCK {
        let waited = if is_ready(fd, events) {
            if limit.is_some_and(|limit| limit <= now()) {
                break;
            }
            let next = now() + clock::ticks_of(TRY_AGAIN_NS);
            sleep::until_next_try(next, Wait::Sleep, limit.is_none())
        } else {
            await_ready(fd, events, limit, call)
        };
        if let Err(error) = waited {
            return -i64::from(error);
        }
        code = attempt();
    }
    code
}

fn header(parts: &[libc::iovec]) -> libc::msghdr {
    // SAFETY: a zeroed one is valid.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = parts.as_ptr().cast_mut();
    message.msg_iovlen = parts.len();
    message
}

pub fn send_message(fd: c_int, mut message: libc::msghdr, mut rest: Parts, flags: c_int, call: &'static str) -> isize {
    let all = total(&rest);
    let mut done = 0;
    loop {
        message.msg_iov = rest.as_mut_ptr();
        message.msg_iovlen = rest.len();
        let put = persist(fd, libc::POLLOUT, flags, call, || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_sendmsg, fd, &raw const message, flags | libc::MSG_DONTWAIT; 0, 0, 0) }
        });
        loopback::settle(fd);
        changed();
        if put < 0 {
            return if done > 0 { done as isize } else { result(put) };
        }
        done += put as u64;
        if done >= all || flags & libc::MSG_DONTWAIT != 0 || !blocks(fd) {
            return done as isize;
        }
        advance(&mut rest, put as u64);
        // Descriptors and the like go with the first bytes alone.
        (message.msg_control, message.msg_controllen) = (core::ptr::null_mut(), 0);
    }
}

pub fn send(fd: c_int, rest: Parts, flags: c_int, call: &'static str) -> isize {
    send_message(fd, header(&rest), rest, flags, call)
}

/// What the message consists of, or is to be put into; of too many pieces, the kernel says something else.
pub fn pieces(message: &libc::msghdr) -> Result<Parts, c_int> {
    let wrong = |error| if error == libc::EINVAL { libc::EMSGSIZE } else { error };
    parts(message.msg_iov, message.msg_iovlen).map_err(wrong)
}

/// Receives into `message`; with `MSG_WAITALL`, until it is full.
pub fn receive_message(fd: c_int, message: &mut libc::msghdr, flags: c_int, call: &'static str, pc: u64) -> isize {
    let list = match pieces(message) {
        Ok(list) => list,
        Err(error) => return failed(error) as isize,
    };
    let (wanted, mut rest, mut done) = (total(&list), list.clone(), 0);
    loop {
        let mut piece = libc::msghdr { msg_iov: rest.as_mut_ptr(), msg_iovlen: rest.len(), ..*message };
        let got = persist(fd, libc::POLLIN, flags, call, || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_recvmsg, fd, &raw mut piece, flags | libc::MSG_DONTWAIT; 0, 0, 0) }
        });
        *message = libc::msghdr { msg_iov: message.msg_iov, msg_iovlen: message.msg_iovlen, ..piece };
        done += got.max(0);
        let whole = flags & libc::MSG_WAITALL == 0 || flags & (libc::MSG_DONTWAIT | libc::MSG_PEEK) != 0;
        if got <= 0 || whole || done as u64 >= wanted || !blocks(fd) {
            has_written(&list, done, pc);
            loopback::settle(fd);
            changed();
            return if got < 0 && done == 0 { result(got) } else { done as isize };
        }
        advance(&mut rest, got as u64);
    }
}

pub fn receive(fd: c_int, parts: &[libc::iovec], flags: c_int, call: &'static str, pc: u64) -> isize {
    receive_message(fd, &mut header(parts), flags, call, pc)
}

/// recvfrom, with the sender's address.
fn receive_from(fd: c_int, into: u64, bytes: usize, flags: c_int, name: *mut c_void, room: *mut u32, pc: u64) -> isize {
    let list = one(into, bytes);
    let mut message = header(&list);
    if !name.is_null() && !room.is_null() {
        message.msg_name = name;
        let Some(room) = peek::fetch(room) else { return failed(libc::EFAULT) as isize };
        message.msg_namelen = room;
    }
    let got = receive_message(fd, &mut message, flags, "recvfrom", pc);
    if got >= 0 && !name.is_null() && !room.is_null() && !peek::put(room, message.msg_namelen) {
        return failed(libc::EFAULT) as isize;
    }
    got
}

fn send_to(fd: c_int, from: u64, bytes: usize, flags: c_int, name: *const c_void, room: u32, pc: u64) -> isize {
    sched::enter_kernel();
    let list = one(from, bytes);
    will_read(&list, pc);
    let mut message = header(&list);
    (message.msg_name, message.msg_namelen) = (name.cast_mut(), room);
    send_message(fd, message, list, flags, "sendto")
}

stand_ins_at! {
    "r8" fn send(fd: c_int, from: u64, bytes: usize, flags: c_int; pc) -> isize {
        send_to(fd, from, bytes, flags, core::ptr::null(), 0, pc)
    }

    "rcx" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int; pc) -> isize {
        sched::enter_kernel();
        let fetched = peek::fetch(message).ok_or(libc::EFAULT).and_then(|message| Ok((message, pieces(&message)?)));
        match fetched {
            Ok((message, list)) => {
                will_read(&list, pc);
                send_message(fd, message, list, flags, "sendmsg")
            }
            Err(error) => failed(error) as isize,
        }
    }

    "r8" fn recv(fd: c_int, into: u64, bytes: usize, flags: c_int; pc) -> isize {
        sched::enter_kernel();
        receive(fd, &one(into, bytes), flags, "recv", pc)
    }

    "r9" fn __recv_chk(fd: c_int, into: u64, bytes: usize, room: usize, flags: c_int; pc) -> isize {
        sched::enter_kernel();
        if bytes > room { own(fd, into, bytes, room, flags) } else { receive(fd, &one(into, bytes), flags, "recv", pc) }
    }

    "rcx" fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int; pc) -> isize {
        sched::enter_kernel();
        let Some(mut copy) = peek::fetch(message) else { return failed(libc::EFAULT) as isize };
        let got = receive_message(fd, &mut copy, flags, "recvmsg", pc);
        if got >= 0 && !peek::put(message, copy) { failed(libc::EFAULT) as isize } else { got }
    }
}

extern "C" fn send_to_at(
    fd: c_int,
    from: u64,
    bytes: usize,
    flags: c_int,
    name: *const c_void,
    room: u32,
    pc: u64,
) -> isize {
    if !active() {
        real! { fn sendto(fd: c_int, from: u64, bytes: usize, flags: c_int, name: *const c_void, room: u32) -> isize; }
        return sendto(fd, from, bytes, flags, name, room);
    }
    send_to(fd, from, bytes, flags, name, room, pc)
}

extern "C" fn receive_from_at(
    fd: c_int,
    into: u64,
    bytes: usize,
    flags: c_int,
    name: *mut c_void,
    room: *mut u32,
    pc: u64,
) -> isize {
    if !active() {
        real! {
            fn recvfrom(fd: c_int, into: u64, bytes: usize, flags: c_int, name: *mut c_void, room: *mut u32) -> isize;
        }
        return recvfrom(fd, into, bytes, flags, name, room);
    }
    sched::enter_kernel();
    receive_from(fd, into, bytes, flags, name, room, pc)
}

stand_ins! {
    /// Of programs built with `_FORTIFY_SOURCE`. Where it is called is not known: it has as many arguments as registers.
    fn __recvfrom_chk(
        fd: c_int, into: u64, bytes: usize, place: usize, flags: c_int, name: *mut c_void, room: *mut u32,
    ) -> isize {
        if bytes > place {
            return own(fd, into, bytes, place, flags, name, room);
        }
        sched::enter_kernel();
        receive_from(fd, into, bytes, flags, name, room, 0)
    }
}

with_seventh! { sendto send_to_at; recvfrom receive_from_at; }
