// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that move bytes from one descriptor to another, of which either may block. They are made without blocking, and again
//! once the side that held them up is ready.
use super::descriptors::{is_pipe, is_read_here, is_socket, option};
use super::loopback;
use super::parts::{has_written, parts, will_read};
use super::sockets::deadline;
use super::waiting::{
    TRY_AGAIN_NS, await_in_any_mode, await_ready, blocks, changed, is_ready, pollfd, without_blocking,
};
use crate::account::host;
use crate::calls::sleep;
use crate::engine::now;
use crate::scheduling::fiber::Wait;
use crate::scheduling::sched;
use crate::stand_in::{failed, result, stand_ins, stand_ins_at};
use crate::sys;
use crate::threads::cancel;
use crate::threads::clock;
use core::ffi::{c_int, c_uint};

const WOULD_BLOCK: i64 = -(libc::EAGAIN as i64);
/// The caller's pipes do not block, whatever their mode.
const NONBLOCK: c_uint = libc::SPLICE_F_NONBLOCK;

/// A descriptor and what is waited for on it.
type Side = (c_int, i16);

/// Makes the call once, without blocking on a pipe or a socket.
fn attempt(sides: &[Side], call: &dyn Fn() -> i64) -> i64 {
    match sides {
        [] => call(),
        [(fd, _), rest @ ..] if is_pipe(*fd) || is_socket(*fd) => without_blocking(*fd, || attempt(rest, call)),
        [_, rest @ ..] => attempt(rest, call),
    }
}

/// Does a call with these flags wait for a descriptor that is not ready?
fn waits_for(fd: c_int, flags: c_uint) -> bool {
    // To a local socket, the flag says so as to a pipe.
    let obeys = || is_pipe(fd) || option(fd, libc::SO_DOMAIN, 0) == Some(libc::AF_UNIX);
    blocks(fd) && !(flags & NONBLOCK != 0 && obeys())
}

/// Waits for a pipe that only another process reads, which is not simulated: as `write` does. False: it is none.
fn await_outside((fd, events): Side) -> bool {
    let is_outside = events == libc::POLLOUT && is_pipe(fd) && !is_read_here(fd);
    if is_outside {
        sys::poll(&mut [pollfd(fd, events)], -1);
        crate::ending::stop_if_asked(0);
    }
    is_outside
}

/// Waits for one side.
fn await_side((fd, events): Side, name: &'static str) -> Result<(), c_int> {
    if await_outside((fd, events)) {
        return Ok(());
    }
    let limit = if events == libc::POLLIN { libc::SO_RCVTIMEO } else { libc::SO_SNDTIMEO };
    await_ready(fd, events, deadline(fd, limit), name)
}

/// Makes the call until it does not say that it would block.
fn persist(sides: &[Side], flags: c_uint, name: &'static str, call: &dyn Fn() -> i64) -> i64 {
    loop {
        let code = attempt(sides, call);
        if code != WOULD_BLOCK {
            return code;
        }
        let busy = sides.iter().find(|(fd, events)| !is_ready(*fd, *events));
        let waits = match busy {
            Some((fd, _)) => waits_for(*fd, flags),
            None => sides.iter().all(|(fd, _)| waits_for(*fd, flags)),
        };
        let waited = match busy {
            _ if !waits => return WOULD_BLOCK,
            Some(side) => await_side(*side, name),
            // Ready, but not for as much as is wanted: all that is left is to try again.
            None => sleep::until_next_try(now() + clock::ticks_of(TRY_AGAIN_NS), Wait::Sleep, true),
        };
        if let Err(error) = waited {
            return -i64::from(error);
        }
    }
}

/// The call begins.
fn begin(name: &'static str) {
    cancel::test();
    sched::enter_kernel();
    host::count(name);
}

fn is_empty(pipe: c_int) -> bool {
    let mut bytes: c_int = 0;
    // SAFETY: the kernel writes a number to the variable.
    unsafe { sys::syscall!(libc::SYS_ioctl, pipe, libc::FIONREAD, &raw mut bytes; 0, 0, 0) };
    bytes == 0
}

/// Makes a call that moves so many bytes, again and again as long as `goes_on` says, as the kernel would go on by itself.
fn moves(
    sides: &[Side],
    (wanted, flags): (usize, c_uint),
    name: &'static str,
    call: &dyn Fn(usize) -> i64,
    goes_on: &dyn Fn() -> bool,
) -> isize {
    begin(name);
    let mut done = 0;
    loop {
        let moved = persist(sides, flags, name, &|| call(wanted - done));
        for (fd, _) in sides {
            loopback::settle(*fd);
        }
        changed();
        if moved < 0 && done == 0 {
            return result(moved);
        }
        done += moved.max(0) as usize;
        if moved <= 0 || done >= wanted || !goes_on() {
            return done as isize;
        }
    }
}

/// To a socket, the kernel sends all; a pipe gets what it has room for.
fn send_file(to: c_int, from: c_int, offset: *mut i64, bytes: usize) -> isize {
    let sides = [(from, libc::POLLIN), (to, libc::POLLOUT)];
    let sends = is_socket(to) && blocks(to);
    // SAFETY: the program's own call.
    let call = |bytes| unsafe { sys::syscall!(libc::SYS_sendfile, to, from, offset, bytes; 0, 0) };
    moves(&sides, (bytes, 0), "sendfile", &call, &|| sends)
}

stand_ins! {
    fn sendfile(to: c_int, from: c_int, offset: *mut i64, bytes: usize) -> isize {
        send_file(to, from, offset, bytes)
    }

    fn sendfile64(to: c_int, from: c_int, offset: *mut i64, bytes: usize) -> isize {
        send_file(to, from, offset, bytes)
    }

    fn splice(
        from: c_int, from_offset: *mut i64, to: c_int, to_offset: *mut i64, bytes: usize, flags: c_uint,
    ) -> isize {
        let sides = [(from, libc::POLLIN), (to, libc::POLLOUT)];
        let sends = is_socket(to) && waits_for(to, flags);
        let call = |bytes| {
            // SAFETY: the program's own call.
            unsafe { sys::syscall!(libc::SYS_splice, from, from_offset, to, to_offset, bytes, flags | NONBLOCK;) }
        };
        moves(&sides, (bytes, flags), "splice", &call, &|| sends && !is_empty(from))
    }

    fn tee(from: c_int, to: c_int, bytes: usize, flags: c_uint) -> isize {
        let sides = [(from, libc::POLLIN), (to, libc::POLLOUT)];
        // SAFETY: the program's own call.
        let call = |bytes| unsafe { sys::syscall!(libc::SYS_tee, from, to, bytes, flags | NONBLOCK; 0, 0) };
        moves(&sides, (bytes, flags), "tee", &call, &|| false)
    }
}

/// Is the descriptor open to be written?
fn is_writable(fd: c_int) -> bool {
    // SAFETY: reads flags.
    let flags = unsafe { sys::syscall!(libc::SYS_fcntl, fd, libc::F_GETFL; 0, 0, 0, 0) };
    flags >= 0 && flags as c_int & libc::O_ACCMODE != libc::O_RDONLY
}

/// Unlike its kin, the call waits even if the pipe's mode is not to (`O_NONBLOCK`): only its flag says so.
fn move_memory(side: Side, memory: &[libc::iovec], flags: c_uint) -> i64 {
    loop {
        // SAFETY: the program's own call, with a copy of its list.
        let code =
            unsafe { sys::syscall!(libc::SYS_vmsplice, side.0, memory.as_ptr(), memory.len(), flags | NONBLOCK; 0, 0) };
        if code != WOULD_BLOCK || flags & NONBLOCK != 0 {
            return code;
        }
        if !await_outside(side)
            && let Err(error) = await_in_any_mode(side.0, side.1, "vmsplice")
        {
            return -i64::from(error);
        }
    }
}

stand_ins_at! {
    "r8" fn vmsplice(fd: c_int, list: *const libc::iovec, count: usize, flags: c_uint; pc) -> isize {
        let memory = match parts(list, count) {
            Ok(memory) => memory,
            Err(error) => return failed(error) as isize,
        };
        let writes = is_writable(fd);
        begin("vmsplice");
        if writes {
            will_read(&memory, pc);
        }
        let moved = move_memory((fd, if writes { libc::POLLOUT } else { libc::POLLIN }), &memory, flags);
        changed();
        if !writes {
            has_written(&memory, moved, pc);
        }
        result(moved)
    }
}
