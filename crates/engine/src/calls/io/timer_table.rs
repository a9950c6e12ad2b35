// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which descriptors are of timers.
use crate::carrier::Carrier;
use crate::sys;
use crate::threads::timers::{Event, delete, with};
use alloc::vec::Vec;
use core::ffi::c_int;

/// A descriptor of the program's.
pub struct Known {
    pub fd: c_int,
    pub timer: usize,
    pub clock: c_int,
}

static KNOWN: Carrier<Vec<Known>> = Carrier::new(Vec::new());

pub fn add(new: Known) {
    KNOWN.with(|known| known.push(new));
}

pub fn find(fd: c_int) -> Option<(usize, c_int)> {
    KNOWN.with(|known| known.iter().find(|k| k.fd == fd).map(|k| (k.timer, k.clock)))
}

/// `to` is a copy of `from` now.
pub fn copied(from: c_int, to: c_int) {
    if let Some((timer, clock)) = find(from) {
        add(Known { fd: to, timer, clock });
    }
}

/// The program has closed `fd`: with the last copy the timer goes.
pub fn forgotten(fd: c_int) {
    let Some((timer, _)) = find(fd) else { return };
    let is_last = KNOWN.with(|known| {
        known.retain(|k| k.fd != fd);
        !known.iter().any(|k| k.timer == timer)
    });
    if !is_last {
        return;
    }
    if let Some(Event::Descriptor(ours)) = with(timer, |t| t.event) {
        sys::close(ours);
    }
    delete(timer);
}
