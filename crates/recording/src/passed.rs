// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of uncontended transfers.
use crate::types::{AccessKind, Passed};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Whose transfers they are: an object by its address, bytes and site, and the place in the code.
type Key = ((u64, u64, u32), u64, AccessKind);

impl Passed {
    /// The `most` most expensive entries. Those of one object, by the same place in the code, are one, which has the address of
    /// the first: an object may have more regions of memory than are kept.
    pub fn merged(all: impl Iterator<Item = Passed>, most: usize) -> Vec<Passed> {
        let mut list: Vec<Passed> = Vec::new();
        let mut first: BTreeMap<Key, usize> = BTreeMap::new();
        for entry in all {
            let known = entry.key().map(|key| *first.entry(key).or_insert(list.len()));
            match known.and_then(|at| list.get_mut(at)) {
                Some(known) => known.add(&entry),
                None => list.push(entry),
            }
        }
        list.sort_by_key(|entry| core::cmp::Reverse(entry.stall));
        list.truncate(most);
        list
    }

    fn key(&self) -> Option<Key> {
        let object = self.object.as_ref()?;
        Some(((object.address, object.bytes, object.site), self.pc, self.kind))
    }

    fn add(&mut self, other: &Passed) {
        self.transfers.iter_mut().zip(other.transfers).for_each(|(sum, count)| *sum += count);
        self.stall += other.stall;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{CLASSES, Object};

    fn entry(address: u64, object: Option<u64>, pc: u64, stall: u64) -> Passed {
        let object = object.map(|address| Object { address, bytes: 1 << 20, site: 7 });
        Passed { address, size: 8, object, pc, kind: AccessKind::Read, transfers: [stall / 10; CLASSES], stall }
    }

    fn merged(all: &[Passed], most: usize) -> Vec<(u64, u64, u64)> {
        let list = Passed::merged(all.iter().cloned(), most);
        list.iter().map(|entry| (entry.address, entry.transfers[CLASSES - 1], entry.stall)).collect()
    }

    #[test]
    fn regions_of_one_object_are_one_entry() {
        let all = [entry(1 << 16, Some(99), 1, 30), entry(2 << 16, Some(99), 1, 40), entry(3 << 16, Some(99), 1, 50)];
        assert_eq!(merged(&all, 9), [(1 << 16, 12, 120)]);
    }

    #[test]
    fn other_objects_places_and_kinds_are_entries_of_their_own() {
        let written = Passed { kind: AccessKind::Write, ..entry(4, Some(99), 1, 40) };
        let mut again = entry(5, Some(99), 1, 30);
        again.object.as_mut().unwrap().site = 8;
        let all = [entry(1, Some(99), 1, 80), entry(2, Some(98), 1, 60), entry(3, Some(99), 2, 50), written, again];
        assert_eq!(merged(&all, 9), [(1, 8, 80), (2, 6, 60), (3, 5, 50), (4, 4, 40), (5, 3, 30)]);
    }

    #[test]
    fn memory_without_an_object_stays_apart() {
        assert_eq!(merged(&[entry(1, None, 1, 30), entry(2, None, 1, 20)], 9), [(1, 3, 30), (2, 2, 20)]);
    }

    /// Many cheap regions of one object can be the most expensive entry.
    #[test]
    fn the_most_expensive_are_kept_by_their_sums() {
        let all = [entry(1, Some(99), 1, 20), entry(2, None, 2, 30), entry(3, Some(99), 1, 20), entry(4, None, 3, 10)];
        assert_eq!(merged(&all, 2), [(1, 4, 40), (2, 3, 30)]);
    }
}
