// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that look like chance, and are the same in each calibration.

pub const SEED: u64 = 88_172_645_463_325_252;

/// The next of a sequence of numbers that look like chance (Marsaglia's xorshift).
pub fn xorshift(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}
