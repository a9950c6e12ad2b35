// SPDX-License-Identifier: MIT OR Apache-2.0
//! Equal caches of one level. The sets of a large one lie all over the host's own caches, and looking through them
//! is most of what a miss costs: so a line is four bytes, and four of them are compared and moved at once.
use crate::chunk::{Chunk, EMPTY, Entry};
use crate::machine::Cache;
use alloc::vec::Vec;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Each set, from the newest line to the oldest.
pub(crate) struct Level {
    caches: Vec<Sets>,
    sets: u64,
    /// Of the number of sets, if that is a power of two.
    mask: Option<u64>,
    /// Chunks of a set but for its first.
    more: usize,
    /// Where lines enter the first and the last chunk of a set: if it is not full, its first places stay empty.
    first: Entry,
    last: Entry,
}

/// The sets of one cache; empty until it is used.
struct Sets {
    /// The newest lines of each set are stored separately: most look-ups find theirs among them.
    newest: Vec<Chunk>,
    others: Vec<Chunk>,
}

/// What [`Level::put`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    Had,
    HadRoom,
    Evicts(Short),
}

impl Level {
    pub fn new(cache: Cache, line_bytes: u32, count: usize) -> Self {
        let ways = cache.ways.max(1);
        let sets = (cache.bytes / u64::from(ways * line_bytes)).max(1);
        let mask = sets.is_power_of_two().then(|| sets - 1);
        let more = (ways as usize).div_ceil(Chunk::PLACES) - 1;
        let last = Entry::before((more + 1) * Chunk::PLACES - ways as usize);
        let first = if more == 0 { last } else { Entry::before(0) };
        let caches = (0..count).map(|_| Sets { newest: Vec::new(), others: Vec::new() }).collect();
        Level { caches, sets, mask, more, first, last }
    }

    /// The number of the set that the line belongs to. A number of sets that is no power of two belongs to a cache
    /// whose slices are chosen by a hash.
    #[inline]
    fn set(&self, line: u64) -> usize {
        let set = match self.mask {
            Some(mask) => line & mask,
            None => ((line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * self.sets) >> 32,
        };
        set as usize
    }

    /// Is it certain that the line is the newest of its set? (Not where a set is less than a chunk.)
    #[inline]
    pub fn is_newest(&self, which: usize, line: u64, short: Short) -> bool {
        self.caches[which].newest.get(self.set(line)).is_some_and(|chunk| chunk.first() == short.0)
    }

    #[inline]
    pub fn has(&self, which: usize, line: u64, short: Short) -> bool {
        let (set, sets) = (self.set(line), &self.caches[which]);
        let Some(newest) = sets.newest.get(set) else { return false };
        if newest.has(short.0) || newest.last() == EMPTY {
            return newest.has(short.0);
        }
        sets.others[set * self.more..][..self.more].iter().any(|chunk| chunk.has(short.0))
    }

    /// Makes the line the newest of its set.
    #[inline]
    pub fn put(&mut self, which: usize, line: u64, short: Short) -> Put {
        let set = self.set(line);
        let sets = &mut self.caches[which];
        if sets.newest.is_empty() {
            sets.newest.resize(self.sets as usize, Chunk::empty());
            sets.others.resize(self.sets as usize * self.more, Chunk::empty());
        }
        let mut moved = short.0;
        if let Some(put) = pass(&mut sets.newest[set], &mut moved, short, self.first) {
            return put;
        }
        if self.more > 0
            && let [between @ .., last] = &mut sets.others[set * self.more..][..self.more]
        {
            for chunk in between {
                if let Some(put) = pass(chunk, &mut moved, short, Entry::before(0)) {
                    return put;
                }
            }
            if let Some(put) = pass(last, &mut moved, short, self.last) {
                return put;
            }
        }
        Put::Evicts(Short(moved))
    }
}

/// Each line takes the place of the next older one, up to where `short` was: `moved` comes from the chunk before, and
/// is what goes to the next.
#[inline]
fn pass(chunk: &mut Chunk, moved: &mut u32, short: Short, entry: Entry) -> Option<Put> {
    if chunk.has(short.0) {
        chunk.insert_up_to(*moved, short.0, entry);
        return Some(Put::Had);
    }
    *moved = chunk.insert(*moved, entry);
    (*moved == EMPTY).then_some(Put::HadRoom)
}

/// A line's number in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short(u32);

/// The regions of memory in use, numbered from 1: a region's number and the place in it are a line's short number.
pub(crate) struct Regions {
    regions: Vec<u64>,
    numbers: HashMap<u64, u32, FxBuildHasher>,
    /// Those that were last asked for, by their last bits, with their short numbers' first bits.
    recent: [(u64, u32); RECENT],
}

/// Of a line's number, the bits within a region: 64 MiB of lines of 64 bytes.
const REGION_SHIFT: u32 = 20;
const IN_REGION: u64 = (1 << REGION_SHIFT) - 1;
const MOST_REGIONS: usize = 1 << (u32::BITS - REGION_SHIFT);
const RECENT: usize = 16;

impl Regions {
    pub fn new() -> Self {
        Regions { regions: alloc::vec![u64::MAX], numbers: HashMap::default(), recent: [(u64::MAX, 0); RECENT] }
    }

    #[inline]
    pub fn shorten(&mut self, line: u64) -> Short {
        let region = line >> REGION_SHIFT;
        let (known, first) = self.recent[region as usize % RECENT];
        let first = if known == region { first } else { self.look_up(region) };
        Short(first | (line & IN_REGION) as u32)
    }

    #[cold]
    fn look_up(&mut self, region: u64) -> u32 {
        let next = self.regions.len();
        let number = *self.numbers.entry(region).or_insert_with(|| {
            // 256 GiB are in use: from there on regions share numbers, and hit each other's lines.
            if next < MOST_REGIONS {
                self.regions.push(region);
                next as u32
            } else {
                1 + (region % (MOST_REGIONS as u64 - 1)) as u32
            }
        });
        let first = number << REGION_SHIFT;
        self.recent[region as usize % RECENT] = (region, first);
        first
    }

    #[inline]
    pub fn line(&self, short: Short) -> u64 {
        self.regions[(short.0 >> REGION_SHIFT) as usize] << REGION_SHIFT | u64::from(short.0) & IN_REGION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(sets: u64, ways: u32) -> Level {
        Level::new(Cache { bytes: sets * u64::from(ways) * 64, ways, latency: 0 }, 64, 1)
    }

    #[test]
    fn the_oldest_of_a_set_goes() {
        let mut level = level(4, 2);
        let mut put = |line: u64| level.put(0, line, Short(line as u32));
        assert_eq!([put(1), put(5), put(2), put(1)], [Put::HadRoom, Put::HadRoom, Put::HadRoom, Put::Had]);
        assert_eq!(put(9), Put::Evicts(Short(5)));
        assert!(level.has(0, 9, Short(9)) && level.has(0, 1, Short(1)) && !level.has(0, 5, Short(5)));
    }

    /// Compared with a plain list of lines, for every number of ways in the last chunk.
    #[test]
    fn sets_of_any_size_are_lists() {
        for ways in 1..=20 {
            let (mut level, mut list) = (level(1, ways), Vec::new());
            let mut random = 1u64;
            for _ in 0..2000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let line = 1 + (random >> 33) % (u64::from(ways) + 4);
                assert_eq!(level.has(0, line, Short(line as u32)), list.contains(&line));
                let had = list.iter().position(|l| *l == line).map(|at| list.remove(at)).is_some();
                list.insert(0, line);
                let expected = match list.get(ways as usize) {
                    _ if had => Put::Had,
                    Some(oldest) => Put::Evicts(Short(*oldest as u32)),
                    None => Put::HadRoom,
                };
                list.truncate(ways as usize);
                assert_eq!(level.put(0, line, Short(line as u32)), expected, "{ways} ways, {list:?}");
                assert!(ways < 4 || level.is_newest(0, line, Short(line as u32)));
            }
        }
    }

    #[test]
    fn sets_of_any_number_are_all_used() {
        let level = level(3, 11);
        let used: alloc::collections::BTreeSet<usize> = (0..100).map(|line| level.set(line)).collect();
        assert_eq!(used.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn lines_have_short_numbers_of_their_own() {
        let mut regions = Regions::new();
        let lines: Vec<u64> = (0..300).flat_map(|n| [n << 18, (n << 18) + 7, n << 34]).collect();
        let shorts: Vec<Short> = lines.iter().map(|line| regions.shorten(*line)).collect();
        for (line, short) in lines.iter().zip(&shorts) {
            assert_eq!((regions.line(*short), regions.shorten(*line)), (*line, *short));
            assert_ne!(short.0, EMPTY);
        }
    }

    #[test]
    fn with_too_many_regions_lines_still_have_places() {
        let mut regions = Regions::new();
        for region in 0..2 * MOST_REGIONS as u64 {
            let short = regions.shorten(region << REGION_SHIFT);
            assert_ne!(short.0, EMPTY);
            regions.line(short);
        }
        assert_eq!(regions.regions.len(), MOST_REGIONS);
    }
}
