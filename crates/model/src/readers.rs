// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of cores that have a line to read. Millions of lines have far fewer different sets: each is kept
//! once, and a line needs its number only.
use alloc::vec::Vec;
use core::hash::Hasher;
use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// When the sets take more words than this, lines get records of their own.
const MOST_WORDS: usize = 32 << 20;

pub(crate) struct Readers {
    words: usize,
    sets: Vec<u64>,
    numbers: HashTable<u32>,
    /// The set that is being looked for.
    wanted: Vec<u64>,
}

fn hash(set: &[u64]) -> u64 {
    let mut hasher = FxHasher::default();
    set.iter().for_each(|word| hasher.write_u64(*word));
    hasher.finish()
}

impl Readers {
    pub fn new(cores: u32) -> Self {
        let words = (cores as usize).div_ceil(64);
        Readers { words, sets: Vec::new(), numbers: HashTable::new(), wanted: Vec::new() }
    }

    #[inline]
    pub fn get(&self, set: u32) -> &[u64] {
        &self.sets[set as usize * self.words..][..self.words]
    }

    #[inline]
    pub fn has(&self, set: u32, core: u16) -> bool {
        self.sets[set as usize * self.words + usize::from(core >> 6)] >> (core & 63) & 1 != 0
    }

    /// The set of one core; `None` if there are too many sets.
    pub fn only(&mut self, core: u16) -> Option<u32> {
        self.wanted.clear();
        self.wanted.resize(self.words, 0);
        self.number_with(core)
    }

    /// The set with one more core.
    pub fn add(&mut self, set: u32, core: u16) -> Option<u32> {
        self.wanted.clear();
        self.wanted.extend_from_slice(&self.sets[set as usize * self.words..][..self.words]);
        self.number_with(core)
    }

    /// The number of the wanted set, once `core` is in it.
    fn number_with(&mut self, core: u16) -> Option<u32> {
        let (words, sets) = (self.words, &mut self.sets);
        self.wanted[usize::from(core >> 6)] |= 1 << (core & 63);
        let of = |number: u32| number as usize * words..(number as usize + 1) * words;
        let hashed = hash(&self.wanted);
        if let Some(known) = self.numbers.find(hashed, |number| sets[of(*number)] == self.wanted[..]) {
            return Some(*known);
        }
        if sets.len() + words > MOST_WORDS {
            return None;
        }
        let number = (sets.len() / words) as u32;
        sets.extend_from_slice(&self.wanted);
        self.numbers.insert_unique(hashed, number, |number| hash(&sets[of(*number)]));
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_have_one_number() {
        let mut readers = Readers::new(100);
        let one = readers.only(3).unwrap();
        let both = readers.add(one, 70).unwrap();
        let other = readers.only(70).unwrap();
        assert_eq!(readers.add(other, 3), Some(both));
        assert_eq!(readers.add(both, 3), Some(both));
        assert!(readers.has(both, 3) && readers.has(both, 70) && !readers.has(both, 71));
        assert_ne!(one, other);
    }
}
