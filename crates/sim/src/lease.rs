// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the running CPU may do without events: the page that a front end's inline code reads.
//!
//! The contract, which [`crate::Sim`] keeps and a front end relies on:
//! - A read of a line whose tag is [`Lease::tag`], apart from bits 0 and 1, and a store to one whose tag is
//!   [`Lease::tag_dirty`], take no time and no event: the CPU has the line alone, in its first-level cache.
//! - Computation adds to [`Lease::clock`]; once that has reached [`Lease::limit`], the next basic block is an event.
//! - Tags change only in events of the running CPU, and the lease only between them.
//!
//! Tags that no line has (of a seed's schedule, of a traced thread) make every access an event; a limit of 0, every block.
use core::cell::Cell;
use corefold_model::{Tag, Ticks};

#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Of the running CPU's own lines, unmodified; 0 (an untouched line's tag) while nothing is simulated.
    pub tag: Cell<u32>,
    /// Of those that it has modified.
    pub tag_dirty: Cell<u32>,
    /// 0, or 2 while a sibling of the CPU is busy: which half of a block's cost counts.
    pub cost_half: Cell<u64>,
    /// The running CPU's clock.
    pub clock: Cell<Ticks>,
    /// The clock from which on basic blocks are events.
    pub limit: Cell<Ticks>,
}

impl Lease {
    /// In place of both tags: bit 0 is in no clean tag, and there is no CPU of this number.
    pub const NO_TAG: u32 = u32::MAX;
    /// In place of the clean tag alone: every read is an event, as a spin's reads are being collected.
    pub const READS_SHOWN: u32 = Lease::NO_TAG - 1;

    /// The clock moves on.
    #[inline]
    pub fn spend(&self, ticks: Ticks) {
        self.clock.set(self.clock.get() + ticks);
    }

    #[inline]
    pub fn set_tags(&self, (tag, tag_dirty): (u32, u32)) {
        self.tag.set(tag);
        self.tag_dirty.set(tag_dirty);
    }

    /// The tags of `cpu`, or none where every access is to be an event.
    pub fn tags(cpu: u32, every_access: bool) -> (u32, u32) {
        match every_access {
            false => (Tag::private_clean(cpu).bits(), Tag::private_dirty(cpu).bits()),
            true => (Lease::NO_TAG, Lease::NO_TAG),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_tags_of_its_own_and_none_those_of_every_access() {
        let mut seen = alloc::vec![Lease::NO_TAG];
        for cpu in [0, 1, 2, 1023, corefold_model::MOST_CPUS - 1] {
            let (clean, dirty) = Lease::tags(cpu, false);
            assert_eq!(Lease::tags(cpu, true), (Lease::NO_TAG, Lease::NO_TAG));
            assert!(!seen.contains(&clean) && !seen.contains(&dirty) && clean != dirty);
            seen.extend([clean, dirty]);
        }
    }
}
