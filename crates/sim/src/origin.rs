// SPDX-License-Identifier: MIT OR Apache-2.0
//! The place in the code, the kind and the size of an access in one word, which the model keeps beside it.

const KIND: u32 = 48;
const SIZE: u32 = 52;

/// The kinds under which waits for a plain and for an atomic store in the store buffer are accounted, as the front end
/// numbers them.
pub const WRITTEN: u8 = 1;
pub const STORED: u8 = 3;

pub fn origin(pc: u64, kind: u8, size: u32) -> u64 {
    pc | u64::from(kind) << KIND | u64::from(size.min(64)) << SIZE
}

/// The parts of [`origin`]: pc, kind, size.
pub fn parts(origin: u64) -> (u64, u8, u8) {
    (origin & ((1 << KIND) - 1), (origin >> KIND & 0xf) as u8, (origin >> SIZE) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_parts_come_back() {
        assert_eq!(parts(origin(0x7fff_1234_5678, 5, 16)), (0x7fff_1234_5678, 5, 16));
        assert_eq!(parts(origin(1, 0, 1000)), (1, 0, 64));
    }

    proptest! {
        /// None runs over into another, up to the largest that each may be.
        #[test]
        fn parts_keep_apart(pc in 0u64..1 << KIND, kind in 0u8..16, size in 0u32..=64) {
            for (pc, kind, size) in [(pc, kind, size), ((1 << KIND) - 1, kind, size), (pc, 15, 64), (0, 0, size)] {
                prop_assert_eq!(parts(origin(pc, kind, size)), (pc, kind, size as u8));
            }
        }
    }
}
