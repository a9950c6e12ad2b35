// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which descriptors are of timers.
use crate::sys;
use crate::threads::timers::{Event, delete, get};
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ffi::c_int;

/// A descriptor of the program's.
pub struct Known {
    pub fd: c_int,
    pub timer: usize,
    pub clock: c_int,
}

struct Table(UnsafeCell<Vec<Known>>);
// SAFETY: only the carrier uses it.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(Vec::new()));

pub fn known() -> &'static mut Vec<Known> {
    // SAFETY: as above; no reference outlives its statement.
    unsafe { &mut *TABLE.0.get() }
}

pub fn find(fd: c_int) -> Option<(usize, c_int)> {
    known().iter().find(|k| k.fd == fd).map(|k| (k.timer, k.clock))
}

/// `to` is a copy of `from` now.
pub fn copied(from: c_int, to: c_int) {
    if let Some((timer, clock)) = find(from) {
        known().push(Known { fd: to, timer, clock });
    }
}

/// The program has closed `fd`: with the last copy the timer goes.
pub fn forgotten(fd: c_int) {
    let Some((timer, _)) = find(fd) else { return };
    known().retain(|k| k.fd != fd);
    if known().iter().any(|k| k.timer == timer) {
        return;
    }
    if let Some(Event::Descriptor(ours)) = get(timer).map(|t| t.event) {
        sys::close(ours);
    }
    delete(timer);
}
