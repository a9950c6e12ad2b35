// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many CPUs the program is to see.
use crate::engine::{active, launch};
use crate::parameters;
use core::sync::atomic::{AtomicU32, Ordering};

/// Libraries ask in their constructors already, before the run begins. None:
/// nothing is simulated.
pub fn count() -> Option<u32> {
    const UNKNOWN: u32 = 0;
    const NONE: u32 = u32::MAX;
    static TOLD: AtomicU32 = AtomicU32::new(UNKNOWN);
    if active() {
        return Some(launch().cpus);
    }
    // Relaxed: whoever reads an old value looks again.
    if TOLD.load(Ordering::Relaxed) == UNKNOWN {
        TOLD.store(parameters::launch().map_or(NONE, |launch| launch.cpus), Ordering::Relaxed);
    }
    Some(TOLD.load(Ordering::Relaxed)).filter(|count| *count != NONE)
}
