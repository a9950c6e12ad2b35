// SPDX-License-Identifier: MIT OR Apache-2.0
//! read, write and their like, on whatever may block.
use super::descriptors;
use super::loopback;
use super::parts::{Parts, advance, has_written, limited, one, parts, total, will_read};
use super::waiting::{await_ready, changed};
use crate::account::host;
use crate::mappings::shared;
use crate::scheduling::sched;
use crate::stand_in::{failed, result, stand_ins, stand_ins_at};
use crate::sys;
use crate::threads::cancel;
use core::ffi::{c_int, c_uint};

/// What a write to a pipe that polls as writable takes without blocking.
pub const PIPE_BUF: u64 = 4096;

fn read_parts(fd: c_int, parts: &[libc::iovec], call: &'static str, pc: u64) -> isize {
    sched::enter_kernel();
    if descriptors::is_random(fd) {
        let filled = parts.iter().all(|p| crate::calls::random::fill_at(p.iov_base, p.iov_len, pc));
        return if filled { total(parts) as isize } else { failed(libc::EFAULT) as isize };
    }
    if descriptors::is_socket(fd) {
        return super::sockets::receive(fd, parts, 0, call, pc);
    }
    if let Err(error) = await_ready(fd, libc::POLLIN, None, call) {
        return failed(error) as isize;
    }
    host::count("read");
    // SAFETY: the program's own call.
    let got = unsafe { sys::syscall!(libc::SYS_readv, fd, parts.as_ptr(), parts.len(); 0, 0, 0) };
    has_written(parts, got, pc);
    changed();
    result(got)
}

fn write_parts(fd: c_int, mut parts: Parts, call: &'static str, pc: u64) -> isize {
    cancel::test();
    sched::enter_kernel();
    will_read(&parts, pc);
    if descriptors::is_socket(fd) {
        return super::sockets::send(fd, parts, 0, call);
    }
    if descriptors::is_counter(fd) {
        return count_up(fd, &parts, call);
    }
    let piecewise = descriptors::is_pipe(fd) && descriptors::is_read_here(fd) && super::waiting::blocks(fd);
    if !piecewise {
        host::count("write");
        // SAFETY: the program's own call. A file never blocks; who reads it outside is not simulated.
        let put = unsafe { sys::syscall!(libc::SYS_writev, fd, parts.as_ptr(), parts.len(); 0, 0, 0) };
        shared::appended(fd, put, pc);
        changed();
        return result(put);
    }
    let mut done = 0;
    loop {
        if let Err(error) = await_ready(fd, libc::POLLOUT, None, call) {
            return if done > 0 { done as isize } else { failed(error) as isize };
        }
        let piece = limited(&parts, PIPE_BUF);
        host::count("write");
        // SAFETY: the program's own call, in pieces that the pipe takes without blocking.
        let put = unsafe { sys::syscall!(libc::SYS_writev, fd, piece.as_ptr(), piece.len(); 0, 0, 0) };
        changed();
        if put < 0 {
            return if done > 0 { done as isize } else { result(put) };
        }
        done += put;
        advance(&mut parts, put as u64);
        if parts.is_empty() {
            return done as isize;
        }
    }
}

/// Adds to an event descriptor, which may be ready to be written and yet not take this much.
fn count_up(fd: c_int, parts: &[libc::iovec], call: &'static str) -> isize {
    loop {
        let put = super::waiting::without_blocking(fd, || {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_writev, fd, parts.as_ptr(), parts.len(); 0, 0, 0) }
        });
        if put != -i64::from(libc::EAGAIN) || !super::waiting::blocks(fd) {
            changed();
            return result(put);
        }
        if let Err(error) = super::waiting::await_room_to_count(fd, call) {
            return failed(error) as isize;
        }
    }
}

/// Is it a call on a descriptor that may block, at the place where that stands, and to wait?
fn is_plain(fd: c_int, offset: i64, flags: c_int) -> bool {
    const OF_FILES: c_int = libc::RWF_HIPRI | libc::RWF_DSYNC | libc::RWF_SYNC | libc::RWF_APPEND;
    offset == -1 && flags & !OF_FILES == 0 && !sys::is_regular(fd)
}

/// Makes a call with a copy of the program's list.
fn with_parts(list: *const libc::iovec, count: c_int, call: impl FnOnce(Parts) -> isize) -> isize {
    match parts(list, count as usize) {
        Ok(memory) => call(memory),
        Err(error) => failed(error) as isize,
    }
}

fn read_with(
    (fd, offset, flags): (c_int, i64, c_int),
    parts: &[libc::iovec],
    pc: u64,
    own: impl FnOnce() -> isize,
) -> isize {
    if is_plain(fd, offset, flags) {
        return read_parts(fd, parts, "preadv2", pc);
    }
    cancel::test();
    sched::enter_kernel();
    host::count("preadv2");
    let got = own();
    has_written(parts, got as i64, pc);
    got
}

fn write_with((fd, offset, flags): (c_int, i64, c_int), parts: Parts, pc: u64, own: impl FnOnce() -> isize) -> isize {
    if is_plain(fd, offset, flags) {
        return write_parts(fd, parts, "pwritev2", pc);
    }
    cancel::test();
    sched::enter_kernel();
    will_read(&parts, pc);
    host::count("pwritev2");
    let put = own();
    changed();
    put
}

stand_ins_at! {
    "r9" fn preadv2(fd: c_int, list: *const libc::iovec, count: c_int, offset: i64, flags: c_int; pc) -> isize {
        with_parts(list, count, |memory| {
            read_with((fd, offset, flags), &memory, pc, || own(fd, list, count, offset, flags))
        })
    }

    "r9" fn preadv64v2(fd: c_int, list: *const libc::iovec, count: c_int, offset: i64, flags: c_int; pc) -> isize {
        with_parts(list, count, |memory| {
            read_with((fd, offset, flags), &memory, pc, || own(fd, list, count, offset, flags))
        })
    }

    "r9" fn pwritev2(fd: c_int, list: *const libc::iovec, count: c_int, offset: i64, flags: c_int; pc) -> isize {
        with_parts(list, count, |memory| {
            write_with((fd, offset, flags), memory, pc, || own(fd, list, count, offset, flags))
        })
    }

    "r9" fn pwritev64v2(fd: c_int, list: *const libc::iovec, count: c_int, offset: i64, flags: c_int; pc) -> isize {
        with_parts(list, count, |memory| {
            write_with((fd, offset, flags), memory, pc, || own(fd, list, count, offset, flags))
        })
    }

    "rcx" fn read(fd: c_int, into: u64, bytes: usize; pc) -> isize {
        read_parts(fd, &one(into, bytes), "read", pc)
    }

    "r8" fn __read_chk(fd: c_int, into: u64, bytes: usize, room: usize; pc) -> isize {
        if bytes > room { own(fd, into, bytes, room) } else { read_parts(fd, &one(into, bytes), "read", pc) }
    }

    "rcx" fn readv(fd: c_int, list: *const libc::iovec, count: c_int; pc) -> isize {
        with_parts(list, count, |memory| read_parts(fd, &memory, "readv", pc))
    }

    "rcx" fn write(fd: c_int, from: u64, bytes: usize; pc) -> isize {
        write_parts(fd, one(from, bytes), "write", pc)
    }

    "rcx" fn writev(fd: c_int, list: *const libc::iovec, count: c_int; pc) -> isize {
        with_parts(list, count, |memory| write_parts(fd, memory, "writev", pc))
    }

    "rdx" fn eventfd_read(fd: c_int, value: *mut u64; pc) -> c_int {
        if read_parts(fd, &one(value as u64, 8), "eventfd_read", pc) == 8 { 0 } else { -1 }
    }

    "rdx" fn eventfd_write(fd: c_int, value: u64; pc) -> c_int {
        let value = [value];
        if write_parts(fd, one(value.as_ptr() as u64, 8), "eventfd_write", pc) == 8 { 0 } else { -1 }
    }
}

fn both_inside(code: c_int, pair: *const c_int) -> c_int {
    if code == 0 {
        // SAFETY: the call that filled it succeeded.
        unsafe {
            descriptors::remember_inside(*pair);
            descriptors::remember_inside(*pair.add(1));
        }
    }
    code
}

stand_ins! {
    fn pipe(pair: *mut c_int) -> c_int {
        sched::enter_kernel();
        both_inside(own(pair), pair)
    }

    fn pipe2(pair: *mut c_int, flags: c_int) -> c_int {
        sched::enter_kernel();
        both_inside(own(pair, flags), pair)
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int {
        sched::enter_kernel();
        both_inside(own(domain, kind, protocol, pair), pair)
    }

    fn eventfd(value: c_uint, flags: c_int) -> c_int {
        sched::enter_kernel();
        let fd = own(value, flags);
        if fd >= 0 {
            descriptors::remember_event(fd);
        }
        fd
    }

    fn close(fd: c_int) -> c_int {
        cancel::test();
        sched::enter_kernel();
        let sends = descriptors::is_socket(fd);
        descriptors::forget(fd);
        let code = own(fd);
        if sends {
            loopback::settle_all();
        }
        changed();
        code
    }

    fn dup(from: c_int) -> c_int {
        sched::enter_kernel();
        descriptors::copied(from, own(from))
    }

    fn dup2(from: c_int, to: c_int) -> c_int {
        sched::enter_kernel();
        let code = own(from, to);
        changed();
        if from == to { code } else { descriptors::copied(from, code) }
    }

    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
        sched::enter_kernel();
        let code = own(from, to, flags);
        changed();
        descriptors::copied(from, code)
    }
}
