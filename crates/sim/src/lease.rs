// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the running CPU may do without events: the page that a front end's inline code reads.
//!
//! The contract, which [`crate::Sim`] keeps and a front end relies on:
//! - A read of a line whose tag is [`Lease::tag`], apart from bits 0 and 1, and a store to one whose tag is
//!   [`Lease::tag_dirty`], take no time and no event: the CPU has the line alone, in its first-level cache.
//! - Computation adds to [`Lease::clock`]; once that has reached [`Lease::limit`], the next basic block is an event.
//! - Tags change only in events of the running CPU, by [`Lease::modifies_again`] and by [`Lease::move_elsewhere`], and become
//!   untouched where memory is unmapped; the lease changes only between events.
//!
//! A lease of length zero changes no value and no time (`tests/leases.rs`): what a lease covers has no effect as an event,
//! either. One difference is left: where a CPU has run past a load for its whole window, it learns of the wait at its next
//! event. Until then its clock is behind, and it comes before CPUs that it should come after.
//!
//! All that ends or renews a lease is here. Tags that no line has (of a seed's schedule, of a traced thread) make every access an
//! event; a limit of 0, every block.
use core::cell::Cell;
use core::mem::offset_of;
use corefold_model::{Tag, Ticks};

#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Of the running CPU's own lines, unmodified; 0 (an untouched line's tag) while nothing is simulated.
    pub(crate) tag: Cell<u32>,
    /// Of those that it has modified.
    pub(crate) tag_dirty: Cell<u32>,
    /// 0, or 2 while a sibling of the CPU is busy: which half of a block's cost counts.
    pub cost_half: Cell<u64>,
    /// The running CPU's clock.
    pub clock: Cell<Ticks>,
    /// The clock from which on basic blocks are events.
    pub(crate) limit: Cell<Ticks>,
}

impl Lease {
    /// In place of both tags: bit 0 is in no clean tag, and there is no CPU of this number.
    pub(crate) const NO_TAG: u32 = u32::MAX;
    /// In place of the clean tag alone: every read is an event, as a spin's reads are being collected.
    pub(crate) const READS_SHOWN: u32 = Lease::NO_TAG - 1;

    /// While a thread is traced: every access is an event.
    const TRACED: u32 = Lease::NO_TAG - 2;

    /// Where inline code finds them.
    pub const TAG: usize = offset_of!(Lease, tag);
    pub const TAG_DIRTY: usize = offset_of!(Lease, tag_dirty);
    pub const LIMIT: usize = offset_of!(Lease, limit);

    /// Is a load from a line with this tag without an event?
    #[inline]
    pub fn loads(&self, tag: Tag) -> bool {
        tag.bits() & !3 == self.tag.get()
    }

    /// Is a store to one?
    #[inline]
    pub fn stores(&self, tag: Tag) -> bool {
        tag.bits() == self.tag_dirty.get()
    }

    /// Is the line the CPU's own, and evicted from its first-level cache?
    #[inline]
    pub fn evicted(&self, tag: Tag) -> bool {
        tag.is_evicted_of(self.tag.get())
    }

    /// Is every access an event, as in a seed's schedule?
    #[inline]
    pub fn shows_all(&self) -> bool {
        self.tag.get() == Lease::NO_TAG
    }

    /// Is every read one, though not every access, as a spin's are being collected?
    #[inline]
    pub fn shows_reads(&self) -> bool {
        self.tag.get() == Lease::READS_SHOWN
    }

    /// Is every plain store?
    #[inline]
    pub fn shows_stores(&self) -> bool {
        self.tag_dirty.get() == Lease::NO_TAG
    }

    /// Is the next basic block an event?
    #[inline]
    pub fn is_over(&self) -> bool {
        self.clock.get() >= self.limit.get()
    }

    /// The clock moves on.
    #[inline]
    pub fn spend(&self, ticks: Ticks) {
        self.clock.set(self.clock.get() + ticks);
    }

    /// Every access of the running thread, which is traced, is an event.
    pub fn trace(&self) {
        self.set_tags((Lease::TRACED, Lease::TRACED));
    }

    /// Whether every read by `cpu`, whose tags are `tags`, is an event from now on.
    pub(crate) fn show_reads(&self, all: bool, cpu: u32, tags: &mut (u32, u32)) {
        tags.0 = if all { Lease::READS_SHOWN } else { Tag::private_clean(cpu).bits() };
        self.tag.set(tags.0);
    }

    /// The same of plain stores.
    pub(crate) fn show_stores(&self, all: bool, cpu: u32, tags: &mut (u32, u32)) {
        tags.1 = if all { Lease::NO_TAG } else { Tag::private_dirty(cpu).bits() };
        self.tag_dirty.set(tags.1);
    }

    /// Blocks cost what they do beside a busy sibling, or not.
    #[inline]
    pub(crate) fn beside_busy(&self, busy: bool) {
        self.cost_half.set(if busy { 2 } else { 0 });
    }

    #[inline]
    pub(crate) fn set_tags(&self, (tag, tag_dirty): (u32, u32)) {
        self.tag.set(tag);
        self.tag_dirty.set(tag_dirty);
    }

    /// Computation goes on until then without an event.
    #[inline]
    pub(crate) fn extend(&self, until: Ticks) {
        self.limit.set(until);
    }

    /// The next basic block is an event. A signal handler may ask for that, too.
    #[inline]
    pub fn end(&self) {
        self.limit.set(0);
    }

    /// No block is an event: nothing is simulated.
    pub fn unlimited(&self) {
        self.limit.set(Ticks::MAX);
    }

    /// The running CPU's first store to a line since its refill, which it had modified before: it costs what the next one
    /// does. Returns whether it is one.
    #[inline]
    pub fn modifies_again(&self, tag: &Cell<Tag>) -> bool {
        let again = tag.get().is_below_of(self.tag.get());
        if again {
            tag.set(tag.get().modified());
        }
        again
    }

    /// From now on, nothing is simulated on this line, but on one that stands for it. Returns whether that is new.
    pub fn move_elsewhere(tag: &Cell<Tag>) -> bool {
        tag.replace(Tag::ELSEWHERE) != Tag::ELSEWHERE
    }

    /// Is a read by `cpu` of a line with this tag one that a lease lets it make without an event? As an event, it takes no
    /// time either.
    #[inline]
    pub fn covers_read(tag: Tag, cpu: u32) -> bool {
        tag.bits() & !3 == Tag::private_clean(cpu).bits()
    }

    /// The same of a store.
    #[inline]
    pub(crate) fn covers_store(tag: Tag, cpu: u32) -> bool {
        tag.is_dirty() && tag.modified() == Tag::private_dirty(cpu)
    }

    /// The tags of `cpu`, or none where every access is to be an event.
    pub(crate) fn tags(cpu: u32, every_access: bool) -> (u32, u32) {
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

    /// What a lease covers, by its tags: as the inline hooks compare them.
    #[test]
    fn events_take_no_time_where_a_lease_would_cover_them() {
        let lines = |cpu| [Tag::private_clean(cpu), Tag::private_dirty(cpu), Tag::private_dirty(cpu).evicted()];
        for (cpu, tag) in [3, 4].into_iter().flat_map(|cpu| lines(cpu).map(|tag| (cpu, tag))) {
            let (clean, dirty) = Lease::tags(3, false);
            assert_eq!(Lease::covers_read(tag, 3), tag.bits() & !3 == clean, "{cpu} {tag:?}");
            assert_eq!(Lease::covers_store(tag, 3), tag.bits() == dirty, "{cpu} {tag:?}");
        }
        assert!(!Lease::covers_read(Tag::UNTOUCHED, 0) && !Lease::covers_store(Tag::UNTOUCHED, 0));
    }
}
