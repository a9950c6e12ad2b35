// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that the program has opened for writing: runs that are simulated at the same time share them.
use crate::carrier::Carrier;
use crate::sys;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// More files, and longer paths, are not kept.
const MOST: usize = 16;
const LONGEST: usize = 512;

static WANTED: AtomicBool = AtomicBool::new(false);
static PATHS: Carrier<[([u8; LONGEST], usize); MOST]> = Carrier::new([([0; LONGEST], 0); MOST]);

pub fn begin() {
    WANTED.store(true, Relaxed);
}

/// The program has opened a file with these flags. A file that it has made anew is no other run's.
pub fn opened(fd: c_int, flags: c_int) {
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
    let writes = writes && flags & (libc::O_EXCL | libc::O_PATH) == 0;
    let is_new = flags & libc::O_TMPFILE == libc::O_TMPFILE;
    if fd < 0 || !writes || is_new || !WANTED.load(Relaxed) || !sys::is_regular(fd) {
        return;
    }
    let mut path = [0; LONGEST];
    let Some(found) = sys::path_of(fd, &mut path).map(<[u8]>::len).filter(|bytes| *bytes < LONGEST) else { return };
    PATHS.with(|paths| {
        let place = paths.iter_mut().find(|(known, bytes)| *bytes == 0 || known[..*bytes] == path[..found]);
        if let Some(place) = place {
            *place = (path, found);
        }
    });
}

pub fn all() -> Vec<String> {
    PATHS.with(|paths| {
        let known = paths.iter().filter(|(_, bytes)| *bytes > 0);
        known.map(|(path, bytes)| String::from_utf8_lossy(&path[..*bytes]).into_owned()).collect()
    })
}
