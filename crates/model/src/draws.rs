// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that look drawn by lot and are the same in every run (SplitMix64, Steele and others, 2014).

pub(crate) struct Draws(u64);

impl Draws {
    pub fn new() -> Self {
        Draws(0)
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
