// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory that simulated programs share. It shows the running CPU's view: see [`crate::StoreBuffers`].
use core::cell::Cell;
use core::ops::Range;
use corefold_model::Tag;

pub trait Memory {
    /// The bytes from `address` on, little endian; `size` is 1, 2, 4 or 8.
    fn read(&self, address: u64, size: u8) -> u64;

    /// Writes as many bytes of `value`.
    fn write(&mut self, address: u64, size: u8, value: u64);

    /// Where the bytes are kept that the simulator knows at `address`: two addresses may name the same ones.
    #[inline]
    fn held_at(&self, address: u64) -> u64 {
        address
    }

    /// Does work that undoes stores and puts them in again. Where the simulator's own stack lies in this memory, it has to
    /// be done on another one, and `work` must own what it uses or have it elsewhere.
    #[inline]
    fn apart<W: FnOnce(&mut Self)>(&mut self, work: W)
    where
        Self: Sized,
    {
        work(self);
    }
}

/// What is known of each line, as the model left it: untouched at first.
pub trait Tags {
    fn tag(&mut self, address: u64) -> &Cell<Tag>;
}

/// What the model does with a line, and with its tag.
#[inline(always)]
pub(crate) fn with_tag<R>(tag: &Cell<Tag>, work: impl FnOnce(&mut Tag) -> R) -> R {
    let mut changed = tag.get();
    let result = work(&mut changed);
    tag.set(changed);
    result
}

/// Do these bytes and those have any in common?
#[inline]
pub(crate) fn overlap(these: &Range<u64>, those: &Range<u64>) -> bool {
    these.start < those.end && those.start < these.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_overlap_where_a_byte_is_in_both() {
        let ranges = || (0..5u64).flat_map(|start| (start + 1..6).map(move |end| start..end));
        for (these, those) in ranges().flat_map(|these| ranges().map(move |those| (these.clone(), those))) {
            let any = these.clone().any(|byte| those.contains(&byte));
            assert_eq!(overlap(&these, &those), any, "{these:?} {those:?}");
        }
    }
}
