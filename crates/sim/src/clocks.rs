// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clocks of the CPUs that wait for their turn: a heap of four-way nodes, as the one operation that
//! counts is to exchange the smallest for another.
use alloc::vec::Vec;
use corefold_model::{CPU_BITS, Ticks};

const WAYS: usize = 4;

/// Clock and CPU in one word; equal clocks are ordered by CPU.
#[derive(Default)]
pub struct Clocks(Vec<u64>);

fn key(clock: Ticks, cpu: u32) -> u64 {
    clock << CPU_BITS | u64::from(cpu)
}

fn parts(key: u64) -> (Ticks, u32) {
    (key >> CPU_BITS, key as u32 & ((1 << CPU_BITS) - 1))
}

impl Clocks {
    /// The smallest clock.
    #[inline]
    pub fn smallest(&self) -> Ticks {
        self.0.first().map_or(Ticks::MAX, |key| key >> CPU_BITS)
    }

    /// The CPU of the smallest clock, if any waits.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        self.0.first().map(|key| parts(*key).1)
    }

    #[inline]
    pub fn push(&mut self, clock: Ticks, cpu: u32) {
        let mut at = self.0.len();
        let new = key(clock, cpu);
        self.0.push(new);
        while at > 0 && self.0[(at - 1) / WAYS] > new {
            self.0[at] = self.0[(at - 1) / WAYS];
            at = (at - 1) / WAYS;
        }
        self.0[at] = new;
    }

    #[inline]
    pub fn pop(&mut self) -> Option<(Ticks, u32)> {
        let last = self.0.pop()?;
        match self.0.first().copied() {
            Some(first) => {
                self.sink(last);
                Some(parts(first))
            }
            None => Some(parts(last)),
        }
    }

    /// The CPU does not wait for its turn any more.
    pub fn remove(&mut self, cpu: u32) {
        let others: Vec<u64> = self.0.drain(..).filter(|key| parts(*key).1 != cpu).collect();
        others.into_iter().map(parts).for_each(|(clock, cpu)| self.push(clock, cpu));
    }

    /// Delays CPUs that wait for their turn.
    pub fn delay(&mut self, mut until: impl FnMut(u32, Ticks) -> Ticks) {
        let all: Vec<u64> = self.0.drain(..).collect();
        all.into_iter().map(parts).for_each(|(clock, cpu)| self.push(until(cpu, clock), cpu));
    }

    /// Gives CPUs the clocks that `new` names; all others keep theirs.
    pub fn change(&mut self, new: impl Fn(u32) -> Option<Ticks>) {
        for slot in &mut self.0 {
            let (_, cpu) = parts(*slot);
            if let Some(clock) = new(cpu) {
                *slot = key(clock, cpu);
            }
        }
        // A sorted array is a heap.
        self.0.sort_unstable();
    }

    /// Inserts this one and removes the smallest, which may be this one.
    #[inline]
    pub fn exchange(&mut self, clock: Ticks, cpu: u32) -> (Ticks, u32) {
        let new = key(clock, cpu);
        match self.0.first().copied() {
            Some(first) if first < new => {
                self.sink(new);
                parts(first)
            }
            _ => (clock, cpu),
        }
    }

    /// Replaces the root by `new` and restores the heap order (sift down).
    #[inline]
    fn sink(&mut self, new: u64) {
        let keys = self.0.as_mut_slice();
        let mut at = 0;
        loop {
            let first = at * WAYS + 1;
            let Some(children) = keys.get(first..(first + WAYS).min(keys.len())) else { break };
            let best = match children {
                [] => break,
                // Which is the smallest cannot be predicted: selections, no branches.
                [a, b, c, d] => {
                    let (low, high) = (usize::from(b < a), 2 + usize::from(d < c));
                    if children[high] < children[low] { high } else { low }
                }
                _ => (1..children.len()).fold(0, |best, i| if children[i] < children[best] { i } else { best }),
            };
            if children[best] >= new {
                break;
            }
            keys[at] = children[best];
            at = first + best;
        }
        keys[at] = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    /// What the heap is compared with: clocks by CPU.
    fn smallest(model: &BTreeMap<u32, Ticks>) -> Option<(Ticks, u32)> {
        model.iter().map(|(cpu, clock)| (*clock, *cpu)).min()
    }

    fn filled(clocks: &[Ticks]) -> (Clocks, BTreeMap<u32, Ticks>) {
        let (mut heap, mut model) = (Clocks::default(), BTreeMap::new());
        for (cpu, clock) in (0..).zip(clocks) {
            heap.push(*clock, cpu);
            model.insert(cpu, *clock);
        }
        (heap, model)
    }

    fn drain(mut heap: Clocks) -> Vec<(Ticks, u32)> {
        core::iter::from_fn(move || heap.pop()).collect()
    }

    fn sorted(model: BTreeMap<u32, Ticks>) -> Vec<(Ticks, u32)> {
        let mut all: Vec<_> = model.into_iter().map(|(cpu, clock)| (clock, cpu)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn without_cpus_nothing_is_behind() {
        let mut heap = Clocks::default();
        assert_eq!((heap.smallest(), heap.pop()), (Ticks::MAX, None));
        assert_eq!(heap.exchange(7, 3), (7, 3));
    }

    /// Clock and CPU share a word.
    #[test]
    fn the_latest_clocks_of_the_last_cpus_are_in_order() {
        let (latest, last) = (Ticks::MAX >> CPU_BITS, corefold_model::MOST_CPUS - 1);
        let mut heap = Clocks::default();
        let all = [(latest - 1, last), (latest, 0), (latest, 1), (latest, last - 1), (latest, last)];
        all.iter().rev().for_each(|(clock, cpu)| heap.push(*clock, *cpu));
        assert_eq!((heap.smallest(), heap.first()), (latest - 1, Some(last)));
        heap.delay(|cpu, clock| if cpu == last { clock.min(latest - 2) } else { clock });
        heap.remove(1);
        assert_eq!(drain(heap), [(latest - 2, last), (latest - 2, last), (latest, 0), (latest, last - 1)]);
    }

    proptest! {
        /// Few different clocks, so that many are equal.
        #[test]
        fn cpus_come_by_clock_then_number(clocks in prop::collection::vec(0u64..8, 0..40)) {
            let (heap, model) = filled(&clocks);
            prop_assert_eq!(heap.smallest(), smallest(&model).map_or(Ticks::MAX, |(clock, _)| clock));
            prop_assert_eq!(heap.first(), smallest(&model).map(|(_, cpu)| cpu));
            prop_assert_eq!(drain(heap), sorted(model));
        }

        #[test]
        fn exchange_is_push_and_pop(clocks in prop::collection::vec(0u64..8, 0..40), new in 0u64..8) {
            let (mut heap, mut model) = filled(&clocks);
            model.insert(99, new);
            let first = smallest(&model).expect("one at least");
            prop_assert_eq!(heap.exchange(new, 99), first);
            model.remove(&first.1);
            prop_assert_eq!(drain(heap), sorted(model));
        }

        #[test]
        fn changes_keep_the_order(clocks in prop::collection::vec(0u64..8, 1..40), cpu in 0u32..40, new in 0u64..8) {
            let (mut heap, mut model) = filled(&clocks);
            heap.change(|c| (c == cpu).then_some(new));
            model.entry(cpu).and_modify(|clock| *clock = new);
            heap.delay(|c, clock| if c % 3 == 0 { clock + 5 } else { clock });
            model.iter_mut().for_each(|(c, clock)| *clock += if c % 3 == 0 { 5 } else { 0 });
            heap.remove(cpu / 2);
            model.remove(&(cpu / 2));
            prop_assert_eq!(drain(heap), sorted(model));
        }
    }
}
