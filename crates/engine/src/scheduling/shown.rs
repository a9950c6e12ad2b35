// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which accesses of the running CPU take the slow path, beyond those that have to.
use crate::engine::sim;
use crate::hot::hot;

/// Is this a schedule drawn from a seed? Then all accesses are shown, so that a delay can come between any two.
#[inline]
pub fn all_accesses() -> bool {
    hot().shows_all()
}

/// Makes every plain read of the running CPU take the slow path, or not any more. In a seed's schedule all do anyway.
pub fn show_reads(all: bool) {
    if !all_accesses() && hot().traced.get() == 0 {
        sim(|sim| sim.show_reads(all, hot()));
    }
}

/// The same for every plain store.
pub fn show_stores(all: bool) {
    if !all_accesses() && hot().traced.get() == 0 {
        sim(|sim| sim.show_stores(all, hot()));
    }
}

/// Has every store since?
#[inline]
pub fn shows_stores() -> bool {
    hot().shows_stores()
}

/// Has it since [`show_reads`]?
pub fn shows_reads() -> bool {
    hot().shows_reads() || all_accesses()
}
