// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel does not tell of a descriptor: who can make it ready.
use crate::calls::timers::descriptor_table as timers;
use crate::carrier::Carrier;
use crate::sys;
use alloc::collections::BTreeSet;
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
}

static KNOWN: Carrier<Known> =
    Carrier::new(Known { inside: BTreeSet::new(), numbers: BTreeSet::new(), random: BTreeSet::new() });

fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: a zeroed one is valid, and the kernel fills it.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let code = sys::syscall!(libc::SYS_fstat, fd, &raw mut status; 0, 0, 0, 0);
        (code == 0).then_some(status)
    }
}

/// Has the program made a pipe or a pair of sockets?
pub fn any_inside() -> bool {
    KNOWN.with(|known| !known.inside.is_empty())
}

/// Can only this process make `fd` ready?
pub fn is_inside(fd: c_int) -> bool {
    let holds = |s: libc::stat| KNOWN.with(|known| known.inside.contains(&(s.st_dev, s.st_ino)));
    is_counter(fd) || status(fd).is_some_and(holds)
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

pub fn option<T>(fd: c_int, name: c_int, mut value: T) -> Option<T> {
    let mut bytes = size_of::<T>() as u32;
    // SAFETY: the value is as long as is said.
    let code =
        unsafe { sys::syscall!(libc::SYS_getsockopt, fd, libc::SOL_SOCKET, name, &raw mut value, &raw mut bytes; 0) };
    (code == 0).then_some(value)
}
