// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel does not tell of a descriptor: who can make it ready.
use crate::calls::io::timer_table as timers;
use crate::carrier::Carrier;
use crate::sys;
use alloc::collections::{BTreeMap, BTreeSet};
use core::ffi::c_int;

struct Known {
    /// Pipes and sockets whose both ends the program made: device and inode, which copies of the
    /// descriptor share.
    inside: BTreeSet<(u64, u64)>,
    /// The same of what shares one inode with all of its kind: event descriptors, and epoll ones that
    /// watch nothing else.
    numbers: BTreeSet<c_int>,
    /// Descriptors of the random devices.
    random: BTreeSet<c_int>,
    /// FIFOs that the program has opened, by device and inode: which ends. Another process may have opened them too.
    fifos: BTreeMap<(u64, u64), Ends>,
}

#[derive(Clone, Copy, Default)]
struct Ends {
    read: bool,
    written: bool,
}

static KNOWN: Carrier<Known> = Carrier::new(Known {
    inside: BTreeSet::new(),
    numbers: BTreeSet::new(),
    random: BTreeSet::new(),
    fifos: BTreeMap::new(),
});

fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: a zeroed one is valid, and the kernel fills it.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let code = sys::syscall!(libc::SYS_fstat, fd, &raw mut status; 0, 0, 0, 0);
        (code == 0).then_some(status)
    }
}

/// Has the program made a pipe or a pair of sockets, or opened a FIFO?
pub fn any_inside() -> bool {
    KNOWN.with(|known| !known.inside.is_empty() || !known.fifos.is_empty())
}

/// Can only this process make `fd` ready?
pub fn is_inside(fd: c_int) -> bool {
    let holds = |s: libc::stat| KNOWN.with(|known| known.inside.contains(&(s.st_dev, s.st_ino)));
    is_counter(fd) || status(fd).is_some_and(holds)
}

/// Can another thread of the program read what is written to `fd`? That may be a FIFO whose both ends it has opened.
pub fn is_read_here(fd: c_int) -> bool {
    let is_fifo = |s: libc::stat| {
        KNOWN.with(|known| known.fifos.get(&(s.st_dev, s.st_ino)).is_some_and(|ends| ends.read && ends.written))
    };
    is_inside(fd) || status(fd).is_some_and(is_fifo)
}

/// The program has opened a FIFO.
pub fn remember_fifo(fd: c_int, flags: c_int) {
    let mode = flags & libc::O_ACCMODE;
    if let Some(status) = status(fd) {
        KNOWN.with(|known| {
            let ends = known.fifos.entry((status.st_dev, status.st_ino)).or_default();
            ends.read |= mode != libc::O_WRONLY;
            ends.written |= mode != libc::O_RDONLY;
        });
    }
}

/// A pipe, named or not.
pub fn is_pipe(fd: c_int) -> bool {
    status(fd).is_some_and(|s| s.st_mode & libc::S_IFMT == libc::S_IFIFO)
}

pub fn is_socket(fd: c_int) -> bool {
    status(fd).is_some_and(|s| s.st_mode & libc::S_IFMT == libc::S_IFSOCK)
}

/// The program made `fd` and has its other end too.
pub fn remember_inside(fd: c_int) {
    if let Some(status) = status(fd) {
        KNOWN.with(|known| known.inside.insert((status.st_dev, status.st_ino)));
    }
}

pub fn remember_event(fd: c_int) {
    KNOWN.with(|known| known.numbers.insert(fd));
}

/// Until it watches a descriptor that another process can make ready.
pub fn remember_epoll(fd: c_int) -> c_int {
    remember_event(fd);
    fd
}

pub fn remember_random(fd: c_int) {
    KNOWN.with(|known| known.random.insert(fd));
}

pub fn is_random(fd: c_int) -> bool {
    KNOWN.with(|known| known.random.contains(&fd))
}

/// An event descriptor, as far as it can be written at all.
pub fn is_counter(fd: c_int) -> bool {
    KNOWN.with(|known| known.numbers.contains(&fd))
}

/// `to`, if it is one, has become a copy of `from`.
pub fn copied(from: c_int, to: c_int) -> c_int {
    if to >= 0 {
        forget(to);
        KNOWN.with(|known| {
            for set in [&mut known.numbers, &mut known.random] {
                if set.contains(&from) {
                    set.insert(to);
                }
            }
        });
        timers::copied(from, to);
    }
    to
}

/// The descriptor is closed, or becomes another's copy.
pub fn forget(fd: c_int) {
    timers::forgotten(fd);
    KNOWN.with(|known| {
        known.numbers.remove(&fd);
        known.random.remove(&fd);
    });
}

/// Moves a new descriptor of ours to where the program does not count on being given one; `None`: it is an error.
pub fn aside(code: i64) -> Option<c_int> {
    const LOWEST: c_int = 700;
    let fd = c_int::try_from(code).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: a copy of a descriptor of ours.
    let copy = unsafe { sys::syscall!(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, LOWEST; 0, 0, 0) };
    if copy < 0 {
        return Some(fd);
    }
    sys::close(fd);
    Some(copy as c_int)
}

pub fn option<T>(fd: c_int, name: c_int, mut value: T) -> Option<T> {
    let mut bytes = size_of::<T>() as u32;
    // SAFETY: the value is as long as is said.
    let code =
        unsafe { sys::syscall!(libc::SYS_getsockopt, fd, libc::SOL_SOCKET, name, &raw mut value, &raw mut bytes; 0) };
    (code == 0).then_some(value)
}
