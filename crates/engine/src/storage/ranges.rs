// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free ranges of an address space: the lowest that fits is taken, so that the same calls get the same
//! addresses.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Begin and end of each free range. No two touch.
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub fn new(begin: u64, end: u64) -> Self {
        Ranges(BTreeMap::from([(begin, end)]))
    }

    /// The lowest free place for so many bytes at a multiple of `align`, which is free no more.
    pub fn take(&mut self, bytes: u64, align: u64) -> Option<u64> {
        let fits = |(begin, end): (&u64, &u64)| {
            let at = begin.next_multiple_of(align);
            (at.checked_add(bytes)? <= *end).then_some(at)
        };
        let at = self.0.iter().find_map(fits)?;
        self.remove(at, at + bytes);
        Some(at)
    }

    pub fn is_free(&self, begin: u64, end: u64) -> bool {
        self.0.range(..=begin).next_back().is_some_and(|(_, free_end)| end <= *free_end)
    }

    /// Whatever of this is free is free no more.
    pub fn remove(&mut self, begin: u64, end: u64) {
        let overlapping: Vec<(u64, u64)> =
            self.0.range(..end).rev().take_while(|(_, e)| **e > begin).map(|(b, e)| (*b, *e)).collect();
        for (free_begin, free_end) in overlapping {
            self.0.remove(&free_begin);
            if free_begin < begin {
                self.0.insert(free_begin, begin);
            }
            if free_end > end {
                self.0.insert(end, free_end);
            }
        }
    }

    /// All of this is free from here on.
    pub fn give(&mut self, begin: u64, end: u64) {
        self.remove(begin, end);
        let (mut from, mut to) = (begin, end);
        if let Some((before, before_end)) = self.0.range(..begin).next_back().map(|(b, e)| (*b, *e))
            && before_end == begin
        {
            self.0.remove(&before);
            from = before;
        }
        if let Some(after_end) = self.0.remove(&end) {
            to = after_end;
        }
        self.0.insert(from, to);
    }
}
