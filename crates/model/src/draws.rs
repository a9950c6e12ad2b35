// SPDX-License-Identifier: MIT OR Apache-2.0
//! The variation of transfer times: pseudo-random numbers, the same in every run.
//!
//! Each line has a sequence of its own for each CPU (SplitMix64, Steele and others, 2014), so the n-th transfer of a
//! line to a CPU varies alike in two programs that are compared, whatever else they do.
use crate::CPU_BITS;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

#[derive(Default)]
pub(crate) struct Draws {
    /// Numbers drawn so far, by line and CPU.
    counts: HashMap<u64, u32, FxBuildHasher>,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Draws {
    /// The next number of this line and CPU.
    #[inline]
    pub fn next(&mut self, line: u64, cpu: u32) -> u64 {
        let which = line << CPU_BITS | u64::from(cpu);
        let count = self.counts.entry(which).or_default();
        *count = count.wrapping_add(1);
        mixed(mixed(which.wrapping_add(STEP)).wrapping_add(u64::from(*count).wrapping_mul(STEP)))
    }
}
