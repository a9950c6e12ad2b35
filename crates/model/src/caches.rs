// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches that run full: which lines each core's first two levels and each cluster's third level hold.
//!
//! They say only where a line *was left*; whose it is, tags and records say. A copy that another core's
//! write made useless stays until it is replaced. The third level takes what leaves the second.
use crate::machine::{Cache, Caches as Sizes};
use crate::{Machine, Ticks, ticks};
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Found {
    First,
    Second,
    Third,
    Nowhere,
}

pub(crate) struct Caches {
    on: bool,
    /// The first level has a size of its own.
    has_first: bool,
    first: Level,
    second: Level,
    third: Level,
    pub second_hit: Ticks,
    pub third_hit: Ticks,
    /// Lines that left a first level and that nobody has asked for yet.
    left: Vec<u64>,
}

impl Caches {
    pub fn new(machine: &Machine, clusters: usize) -> Self {
        let Sizes { l1, l2, l3 } = machine.caches;
        let on = machine.caches.are_finite();
        let (cores, clusters) = if on { (machine.cores() as usize, clusters) } else { (0, 0) };
        let level = |cache: Cache, count| Level::new(cache, machine.line_bytes, count);
        Caches {
            on,
            has_first: l1.bytes > 0,
            first: level(l1, cores),
            second: level(l2, cores),
            third: level(l3, clusters),
            second_hit: ticks(l2.latency),
            third_hit: ticks(l3.latency),
            left: Vec::new(),
        }
    }

    #[inline]
    pub fn on(&self) -> bool {
        self.on
    }

    /// Does the core have the line in a cache of its own?
    pub fn has(&self, core: u16, line: u64) -> bool {
        let core = usize::from(core);
        self.first.has(core, line) || self.second.has(core, line)
    }

    pub fn third_has(&self, cluster: u16, line: u64) -> bool {
        self.third.has(usize::from(cluster), line)
    }

    /// Brings a line to a core's first level; says where it was.
    #[inline]
    pub fn bring(&mut self, core: u16, cluster: u16, line: u64) -> Found {
        let (core, cluster) = (usize::from(core), usize::from(cluster));
        if !self.has_first {
            return self.bring_to_second(core, cluster, line);
        }
        if self.first.is_newest(core, line) {
            return Found::First;
        }
        let (in_first, left) = self.first.put(core, line);
        if in_first {
            return Found::First;
        }
        if let Some(left) = left {
            self.left.push(left);
        }
        let (in_second, left) = self.second.put(core, line);
        if let Some(left) = left {
            self.third.put(cluster, left);
        }
        if in_second {
            return Found::Second;
        }
        if self.third.has(cluster, line) { Found::Third } else { Found::Nowhere }
    }

    fn bring_to_second(&mut self, core: usize, cluster: usize, line: u64) -> Found {
        let (in_second, left) = self.second.put(core, line);
        if let Some(left) = left {
            self.third.put(cluster, left);
            self.left.push(left);
        }
        if in_second {
            return Found::First;
        }
        if self.third.has(cluster, line) { Found::Third } else { Found::Nowhere }
    }

    pub fn take_left(&mut self) -> Option<u64> {
        self.left.pop()
    }

    #[inline]
    pub fn any_left(&self) -> bool {
        !self.left.is_empty()
    }
}

/// Equal caches, each with the lines of each set from the last that was brought to the first.
struct Level {
    /// Empty until the cache is used.
    caches: Vec<Vec<u64>>,
    sets: u64,
    /// Of the number of sets, if that is a power of two.
    mask: Option<u64>,
    ways: usize,
}

/// No line has this number.
const EMPTY: u64 = u64::MAX;

impl Level {
    fn new(cache: Cache, line_bytes: u32, count: usize) -> Self {
        let ways = cache.ways.max(1);
        let sets = (cache.bytes / u64::from(ways * line_bytes)).max(1);
        let mask = sets.is_power_of_two().then(|| sets - 1);
        Level { caches: (0..count).map(|_| Vec::new()).collect(), sets, mask, ways: ways as usize }
    }

    /// Where the line's set begins. A number of sets that is no power of two belongs to a cache whose slices
    /// are chosen by a hash.
    #[inline]
    fn set(&self, line: u64) -> usize {
        let set = match self.mask {
            Some(mask) => line & mask,
            None => ((line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * self.sets) >> 32,
        };
        set as usize * self.ways
    }

    #[inline]
    fn is_newest(&self, which: usize, line: u64) -> bool {
        self.caches[which].get(self.set(line)) == Some(&line)
    }

    #[inline]
    fn has(&self, which: usize, line: u64) -> bool {
        let set = self.set(line);
        // All ways at once, as hardware does: which of them it is changes from line to line.
        let ways = self.caches[which].get(set..set + self.ways);
        ways.is_some_and(|ways| ways.iter().fold(false, |found, l| found | (*l == line)))
    }

    /// Makes the line the newest of its set. Says whether it was there, and what it drove out.
    #[inline]
    fn put(&mut self, which: usize, line: u64) -> (bool, Option<u64>) {
        let set = self.set(line);
        let cache = &mut self.caches[which];
        if cache.is_empty() {
            cache.resize(self.sets as usize * self.ways, EMPTY);
        }
        // Each line takes the place of the next older one, up to where this one was.
        let mut moved = line;
        for place in &mut cache[set..set + self.ways] {
            core::mem::swap(&mut moved, place);
            if moved == line {
                return (true, None);
            }
        }
        (false, (moved != EMPTY).then_some(moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_a_set_goes() {
        let mut level = Level::new(Cache { bytes: 4 * 2 * 64, ways: 2, latency: 0 }, 64, 1);
        assert_eq!(level.put(0, 1), (false, None));
        assert_eq!(level.put(0, 5), (false, None));
        assert_eq!(level.put(0, 2), (false, None));
        assert_eq!(level.put(0, 1), (true, None));
        assert_eq!(level.put(0, 9), (false, Some(5)));
        assert!(level.is_newest(0, 9) && level.has(0, 1) && !level.has(0, 5));
    }

    #[test]
    fn sets_of_any_number_are_all_used() {
        let level = Level::new(Cache { bytes: 3 * 11 * 64, ways: 11, latency: 0 }, 64, 1);
        let used: alloc::collections::BTreeSet<usize> = (0..100).map(|line| level.set(line)).collect();
        assert_eq!(used.into_iter().collect::<Vec<_>>(), [0, 11, 22]);
    }
}
