// SPDX-License-Identifier: MIT OR Apache-2.0
//! The unit of virtual time.

/// Virtual time, in sixteenths of a cycle since the run began.
pub type Ticks = u64;
pub const TICKS_PER_CYCLE: u64 = 16;

/// Whole cycles as ticks.
pub const fn ticks(cycles: u32) -> Ticks {
    cycles as u64 * TICKS_PER_CYCLE
}
