// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that are simulated as if their types were laid out anew.
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Objects whose parts are simulated on lines of their own, while they stay where they are in memory. What no part names
/// is simulated where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayout {
    pub objects: Objects,
    /// Bytes of one object, or of an element where they are arrays: now, and of the parts in their new layout.
    pub stride: u64,
    pub new_stride: u64,
    /// Ascending in the object, and not empty; in the new layout they are apart.
    pub parts: Vec<Part>,
}

/// Which objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Objects {
    /// The one at this address, of so many bytes.
    At(u64, u64),
    /// All that are allocated with this call stack: return addresses, the allocating call's first.
    Allocated(Vec<u64>),
    /// All of this name that the program's own allocator places; of each so many bytes.
    Named(String, u64),
}

/// So many bytes of an object, and where they are in the new layout, which begins at the begin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub from: u64,
    pub bytes: u64,
    pub to: u64,
}

impl Relayout {
    /// Bytes of the new layout of an object of so many, an array maybe; what is left of it beyond whole elements stays.
    pub fn new_bytes(&self, bytes: u64) -> u64 {
        bytes / self.stride * self.new_stride
    }

    /// Where so many bytes at this offset of an object are in the new layout; `None`: where they were, as they are not all of
    /// one part.
    pub fn place(&self, offset: u64, bytes: u64) -> Option<u64> {
        let (element, offset) = (offset / self.stride, offset % self.stride);
        let part = self.parts[..self.parts.partition_point(|part| part.from <= offset)].last()?;
        (offset + bytes <= part.from + part.bytes).then(|| element * self.new_stride + part.to + (offset - part.from))
    }

    /// The parts, ascending in the new layout.
    pub fn by_place(&self) -> Vec<Part> {
        let mut parts = self.parts.clone();
        parts.sort_unstable_by_key(|part| part.to);
        parts
    }

    /// The offset in the object of what is at this place of the new layout; `parts` as [`Relayout::by_place`] has them.
    pub fn offset(&self, parts: &[Part], place: u64) -> u64 {
        let (element, place) = (place / self.new_stride, place % self.new_stride);
        let after = parts.partition_point(|part| part.to <= place);
        let part = &parts[after.saturating_sub(1)];
        element * self.stride + part.from + place.saturating_sub(part.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(stride: u64, new_stride: u64, parts: &[(u64, u64, u64)]) -> Relayout {
        let parts = parts.iter().map(|&(from, bytes, to)| Part { from, bytes, to }).collect();
        Relayout { objects: Objects::At(0x1000, 96), stride, new_stride, parts }
    }

    #[test]
    fn elements_have_lines_of_their_own() {
        let each = layout(24, 64, &[(0, 24, 0)]);
        assert_eq!((each.new_bytes(96), each.new_bytes(100)), (256, 256));
        assert_eq!(
            [0, 23, 24, 95].map(|offset| each.place(offset, 1)),
            [Some(0), Some(23), Some(64), Some(3 * 64 + 23)]
        );
    }

    #[test]
    fn what_is_no_part_stays() {
        let two = layout(96, 128, &[(8, 8, 0), (32, 16, 64)]);
        assert_eq!(
            [0, 8, 15, 16, 31, 32, 47, 48].map(|offset| two.place(offset, 1)),
            [None, Some(0), Some(7), None, None, Some(64), Some(79), None]
        );
    }

    #[test]
    fn bytes_of_two_parts_stay_together() {
        let packed = layout(32, 64, &[(0, 8, 0), (8, 8, 8), (24, 8, 16)]);
        let places =
            [(0, 8), (4, 4), (4, 8), (0, 16), (8, 9), (24, 8)].map(|(offset, bytes)| packed.place(offset, bytes));
        assert_eq!(places, [Some(0), Some(4), None, None, None, Some(16)]);
    }

    #[test]
    fn every_byte_that_goes_comes_back() {
        let moved = layout(48, 128, &[(0, 16, 72), (16, 8, 0), (24, 24, 96)]);
        let ascending = layout(48, 192, &[(0, 8, 0), (16, 8, 64), (24, 24, 128)]);
        for layout in [layout(24, 64, &[(0, 24, 0)]), ascending, moved] {
            let gone = (0..96).filter_map(|offset| Some((offset, layout.place(offset, 1)?)));
            let wrong: Vec<_> =
                gone.filter(|(offset, place)| layout.offset(&layout.by_place(), *place) != *offset).collect();
            assert!(wrong.is_empty(), "{wrong:?}");
        }
    }
}
