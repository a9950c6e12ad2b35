// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening a FIFO waits until its other end is open, too. So it is opened without blocking, which shows the program's other
//! threads and other processes that it is; then a descriptor of ours that hears of whoever opens it (inotify) is waited for.
use super::descriptors::{aside, remember_fifo};
use super::waiting::{changed, interrupted, park, pollfd};
use crate::scheduling::fiber::Woken;
use crate::sys;
use crate::threads::cancel;
use core::ffi::{c_char, c_int};

/// One end, opened without blocking, and a descriptor that hears of others that are opened.
struct Opening {
    fd: c_int,
    reads: bool,
    hears: c_int,
}

/// What `open` returns, an error as the kernel does; `None`: it is no FIFO, or its kind of opening does not wait.
pub fn open(directory: c_int, path: *const c_char, flags: c_int) -> Option<i64> {
    if !is_opened(directory, path, flags) {
        return None;
    }
    let waits = flags & libc::O_NONBLOCK == 0 && flags & libc::O_ACCMODE != libc::O_RDWR;
    let code = if waits { open_waiting(directory, path, flags)? } else { kernels(directory, path, flags) };
    if code >= 0 {
        remember_fifo(code as c_int, flags);
    }
    changed();
    Some(code)
}

/// Is it a FIFO that a call with these flags opens?
pub fn is_opened(directory: c_int, path: *const c_char, flags: c_int) -> bool {
    const ELSEWHERE: c_int = libc::O_PATH | libc::O_DIRECTORY;
    let must_be_new = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
    flags & ELSEWHERE == 0 && !must_be_new && is_fifo(directory, path)
}

fn is_fifo(directory: c_int, path: *const c_char) -> bool {
    // SAFETY: a zeroed structure is valid, and the kernel fills it.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let code = sys::syscall!(libc::SYS_newfstatat, directory, path, &raw mut status, 0; 0, 0);
        code == 0 && status.st_mode & libc::S_IFMT == libc::S_IFIFO
    }
}

fn kernels(directory: c_int, path: *const c_char, flags: c_int) -> i64 {
    // SAFETY: the program's own call, or a new descriptor of ours. No file is made.
    unsafe { sys::syscall!(libc::SYS_openat, directory, path, flags, 0; 0, 0) }
}

/// `None`: the host does not let it be opened that way.
fn open_waiting(directory: c_int, path: *const c_char, flags: c_int) -> Option<i64> {
    let reads = flags & libc::O_ACCMODE == libc::O_RDONLY;
    let at_once = || kernels(directory, path, flags | libc::O_NONBLOCK);
    let mut code = at_once();
    if code == -i64::from(libc::ENXIO) {
        // Nobody reads. While we seem to, it can be opened to be written, as it is to one who comes to read.
        let both = aside(kernels(directory, path, libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC))?;
        code = at_once();
        sys::close(both);
    }
    if code < 0 {
        return Some(code);
    }
    let fd = code as c_int;
    if is_unnamed(fd) {
        make_blocking(fd);
        return Some(code);
    }
    changed();
    let Some(hears) = listen_to(fd) else {
        sys::close(fd);
        return None;
    };
    let opening = Opening { fd, reads, hears };
    let waited = opening.await_other_end();
    sys::close(hears);
    if let Err(error) = waited {
        sys::close(fd);
        return Some(-i64::from(error));
    }
    make_blocking(fd);
    Some(code)
}

/// As the program has asked for.
fn make_blocking(fd: c_int) {
    // SAFETY: reads and sets flags.
    unsafe {
        let all = sys::syscall!(libc::SYS_fcntl, fd, libc::F_GETFL; 0, 0, 0, 0);
        sys::syscall!(libc::SYS_fcntl, fd, libc::F_SETFL, all & !i64::from(libc::O_NONBLOCK); 0, 0, 0);
    }
}

/// A pipe without a name (`/dev/stdin`), whose opening never waits.
fn is_unnamed(fd: c_int) -> bool {
    const PIPES: i64 = 0x5049_5045;
    // SAFETY: a zeroed structure is valid, and the kernel fills it.
    unsafe {
        let mut system: libc::statfs = core::mem::zeroed();
        sys::syscall!(libc::SYS_fstatfs, fd, &raw mut system; 0, 0, 0, 0) == 0 && system.f_type == PIPES
    }
}

/// A descriptor that can be read once somebody has opened the FIFO, or closed what was open to be read only.
fn listen_to(fd: c_int) -> Option<c_int> {
    // SAFETY: a new descriptor of our own, and a terminated string.
    unsafe {
        let hears = aside(sys::syscall!(libc::SYS_inotify_init1, libc::IN_CLOEXEC | libc::IN_NONBLOCK; 0, 0, 0, 0, 0))?;
        let path = alloc::format!("/proc/self/fd/{fd}\0");
        let what = libc::IN_OPEN | libc::IN_CLOSE_NOWRITE;
        if sys::syscall!(libc::SYS_inotify_add_watch, hears, path.as_ptr(), what; 0, 0, 0) < 0 {
            sys::close(hears);
            return None;
        }
        Some(hears)
    }
}

impl Opening {
    /// EINTR: a handler has run after which the call is not to go on.
    fn await_other_end(&self) -> Result<(), c_int> {
        let mut was_there = false;
        while !was_there && !self.has_other_end() {
            let woken = park(alloc::vec![pollfd(self.hears, libc::POLLIN)], true, None, "open");
            was_there = self.heard_reader_go();
            if woken == Woken::Signal {
                if cancel::ends_here() {
                    // The thread does not come back.
                    sys::close(self.hears);
                    sys::close(self.fd);
                }
                if interrupted() == Some(false) {
                    return Err(libc::EINTR);
                }
            }
        }
        Ok(())
    }

    /// Is the other end open, or has it been since ours is?
    fn has_other_end(&self) -> bool {
        let events = if self.reads { libc::POLLIN } else { libc::POLLOUT };
        let mut fds = [pollfd(self.fd, events)];
        sys::poll(&mut fds, 0);
        let found = fds[0].revents;
        if self.reads { found != 0 || is_written(self.fd) } else { found & libc::POLLERR == 0 }
    }

    /// Has one who wanted to read opened the FIFO, and closed it again? Whoever waits to read can tell that of writers, too.
    fn heard_reader_go(&self) -> bool {
        const FIXED: usize = size_of::<libc::inotify_event>();
        let mut bytes = [0u8; 4096];
        let got = sys::read(self.hears, &mut bytes).max(0) as usize;
        let (mut at, mut gone) = (0, false);
        while at + FIXED <= got {
            // SAFETY: the kernel has written whole events.
            let event = unsafe { bytes.as_ptr().add(at).cast::<libc::inotify_event>().read_unaligned() };
            gone |= event.mask & libc::IN_CLOSE_NOWRITE != 0;
            at += FIXED + event.len as usize;
        }
        gone && !self.reads
    }
}

/// Is an empty FIFO open to be written? Then one that reads it without blocking is to try again; none of it is read.
fn is_written(fd: c_int) -> bool {
    let mut pair: [c_int; 2] = [0; 2];
    // SAFETY: new descriptors of our own, which are closed again.
    unsafe {
        if sys::syscall!(libc::SYS_pipe2, pair.as_mut_ptr(), libc::O_CLOEXEC; 0, 0, 0, 0) < 0 {
            return false;
        }
        let code = sys::syscall!(libc::SYS_tee, fd, pair[1], 1, libc::SPLICE_F_NONBLOCK; 0, 0);
        pair.into_iter().for_each(sys::close);
        code == -i64::from(libc::EAGAIN)
    }
}
