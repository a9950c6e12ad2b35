// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets of CPUs.
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A set of CPUs: one bit each, in words that are only as many as the highest CPU needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSet(Vec<u64>);

impl CpuSet {
    pub fn insert(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (cpu % 64);
    }

    pub fn add(&mut self, other: &CpuSet) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(mine, more)| *mine |= more);
    }

    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub fn meets(&self, other: &CpuSet) -> bool {
        self.0.iter().zip(&other.0).any(|(mine, theirs)| mine & theirs != 0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.0.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 != 0)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::CpuSet;

    #[test]
    fn a_union_counts_each_cpu_once() {
        let mut set: CpuSet = [0, 63, 64].into_iter().collect();
        set.add(&(64..70).collect());
        set.add(&CpuSet::default());
        assert_eq!((set.len(), set.contains(64), set.contains(1), set.contains(4095)), (8, true, false, false));
        assert!(set.meets(&[1, 64].into_iter().collect()) && !set.meets(&[1, 62].into_iter().collect()));
        assert_eq!(set, [0, 63, 64, 65, 66, 67, 68, 69].into_iter().collect());
    }
}
