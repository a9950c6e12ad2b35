// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of a line, in four bytes.

/// State of one line: untouched (0), private to a CPU, read by a set of cores, or the number of the
/// model's record of it.
///
/// Most lines are only ever touched by one CPU: for those the tag is all there is, and a hit is one
/// comparison. Lines that several only read need no more than the number of the set of readers.
/// Contended lines get a record and keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(u32);

const PRIVATE: u32 = 1 << 31;
const READ: u32 = 1 << 30;
const DIRTY: u32 = 1;
/// Of a private line: modified, and the caches below its owner's first level have its bytes.
const BELOW: u32 = 1 << 1;
/// Of a private line: its owner's first-level cache has it no more.
const EVICTED: u32 = 1 << 29;

impl Tag {
    pub const UNTOUCHED: Tag = Tag(0);
    /// Of no line: a front end's own, for a place whose line is elsewhere.
    pub const ELSEWHERE: Tag = Tag(!PRIVATE);

    /// The line is in this CPU's cache alone, unmodified.
    pub const fn private_clean(cpu: u32) -> Tag {
        Tag(PRIVATE | cpu << 2)
    }
    /// The line is in this CPU's cache alone, modified.
    pub const fn private_dirty(cpu: u32) -> Tag {
        Tag(PRIVATE | cpu << 2 | DIRTY)
    }
    pub(crate) const fn record(index: u32) -> Tag {
        Tag(index + 1)
    }
    pub(crate) const fn read_by(set: u32) -> Tag {
        Tag(READ | set)
    }
    pub(crate) const fn readers(self) -> Option<u32> {
        if self.0 & (PRIVATE | READ) == READ { Some(self.0 & !READ) } else { None }
    }
    pub const fn is_untouched(self) -> bool {
        self.0 == 0
    }
    pub const fn is_dirty(self) -> bool {
        self.0 & PRIVATE != 0 && self.0 & (DIRTY | BELOW) != 0
    }
    /// The line is no more in its owner's first-level cache: an access has to look for it. Only private lines
    /// need to say so, as the others are looked for each time.
    pub const fn evicted(self) -> Tag {
        if self.0 & PRIVATE != 0 { Tag(self.0 | EVICTED) } else { self }
    }
    pub(crate) const fn is_evicted(self) -> bool {
        self.0 & (PRIVATE | EVICTED) == PRIVATE | EVICTED
    }
    /// The line is private to the CPU whose clean lines have the tag `clean`, and is evicted from its first level.
    #[inline]
    pub const fn is_evicted_of(self, clean: u32) -> bool {
        self.0 & !(DIRTY | BELOW) == clean | EVICTED
    }
    /// The line is private to that CPU, wherever it is.
    #[inline]
    pub const fn is_of(self, clean: u32) -> bool {
        self.0 & !(DIRTY | BELOW | EVICTED) == clean
    }
    /// A modified line leaves its bytes in the cache below.
    pub(crate) const fn written_back(self) -> Tag {
        Tag(self.0 & !DIRTY | BELOW)
    }
    /// The line is private to that CPU and in its first level, and was modified before it came there.
    #[inline]
    pub const fn is_below_of(self, clean: u32) -> bool {
        self.0 == clean | BELOW
    }
    /// Such a line is modified again.
    pub const fn modified(self) -> Tag {
        Tag(self.0 & !BELOW | DIRTY)
    }
    pub(crate) const fn refilled(self) -> Tag {
        if self.0 & PRIVATE != 0 { Tag(self.0 & !EVICTED) } else { self }
    }
    /// The CPU that a private line belongs to.
    pub const fn private_cpu(self) -> Option<u32> {
        if self.0 & PRIVATE != 0 { Some((self.0 & !(PRIVATE | EVICTED)) >> 2) } else { None }
    }
    /// Number of the model's record, for a contended line.
    pub const fn record_index(self) -> Option<u32> {
        if self.0 != 0 && self.0 & (PRIVATE | READ) == 0 { Some(self.0 - 1) } else { None }
    }
    /// As a number, for fast paths that compare tags themselves: bits 0 and 1 of a private tag say what is
    /// modified, and no more.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_are_told_apart() {
        for cpu in [0, 1, 79, crate::MOST_CPUS - 1] {
            let (clean, dirty) = (Tag::private_clean(cpu), Tag::private_dirty(cpu));
            assert_eq!((clean.private_cpu(), dirty.private_cpu()), (Some(cpu), Some(cpu)));
            assert!(dirty.is_dirty() && !clean.is_dirty());
            assert_eq!(clean.bits() | 1, dirty.bits());
            let evicted = dirty.evicted();
            assert!(evicted.is_evicted() && evicted.is_dirty() && evicted != dirty && evicted.refilled() == dirty);
            assert_eq!(evicted.private_cpu(), Some(cpu));
            let below = dirty.written_back();
            assert!(below.is_dirty() && below.is_below_of(clean.bits()) && below.modified() == dirty);
            assert_eq!(
                (below.private_cpu(), below.evicted().refilled(), below.bits() & !3),
                (Some(cpu), below, clean.bits())
            );
            assert!(below.is_of(clean.bits()) && below.evicted().is_evicted_of(clean.bits()));
            assert!(!below.evicted().is_below_of(clean.bits()) && !dirty.is_below_of(clean.bits()));
            assert!(evicted.is_evicted_of(clean.bits()) && !dirty.is_evicted_of(clean.bits()));
            assert!(evicted.is_of(clean.bits()) && dirty.is_of(clean.bits()) && clean.is_of(clean.bits()));
            let other = Tag::private_clean(cpu + 1).bits();
            assert!(!evicted.is_evicted_of(other) && !dirty.is_of(other) && !evicted.is_evicted_of(0));
            assert_eq!((clean.record_index(), dirty.record_index()), (None, None));
        }
        for index in [0, 1, 7, (1 << 30) - 2] {
            let tag = Tag::record(index);
            assert_eq!((tag.record_index(), tag.private_cpu()), (Some(index), None));
            assert!(tag.evicted() == tag && !tag.is_evicted());
            assert!(!tag.is_untouched() && !tag.is_dirty() && tag.readers().is_none());
            let tag = Tag::read_by(index);
            assert_eq!((tag.readers(), tag.private_cpu(), tag.record_index()), (Some(index), None, None));
        }
        assert!(Tag::UNTOUCHED.is_untouched());
        let elsewhere = Tag::ELSEWHERE;
        assert_eq!((elsewhere.record_index(), elsewhere.private_cpu(), elsewhere.is_dirty()), (None, None, false));
    }
}
