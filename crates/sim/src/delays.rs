// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delays drawn from the seed: where threads are delayed, and for how long.
//!
//! Whatever happens here can happen on a real machine: a CPU takes an interrupt, its thread loses the CPU,
//! a wake-up is late, a store stays in the store buffer.
//!
//! What is drawn for a whole run (how often, how long, which threads) is spread over powers of two, so that some
//! seeds suit programs of any size: Burckhardt et al. 2010 choose a few points among all steps, and a long
//! delay at one is their lowest priority; many short ones are a random walk.
use crate::random::Stream;
use alloc::collections::VecDeque;
use corefold_model::{TICKS_PER_CYCLE, Ticks, ticks};

const PURPOSE: u64 = 4;
/// Accesses between two delays: up to 2 to this power.
const RAREST: u64 = 14;
/// A delay is at least 2 to this power of cycles.
const SHORTEST: u64 = 4;
/// Bytes of freed memory that are not reused at once, where the seed says so.
const QUARANTINE: u64 = 16 << 20;
/// Cycles around a common start.
const LEEWAY: u32 = 256;

/// Delays that are remembered, of one thread and of all: a failure comes soon after those that caused it.
const REMEMBERED_OF_ONE: usize = 2;
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// At an access.
    Access,
    /// It lost its CPU to another thread.
    Preempted,
    /// It was woken late.
    Wake,
}

/// One of the last delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    pub cause: Cause,
    pub thread: usize,
    pub pc: u64,
    pub at: Ticks,
    pub length: Ticks,
}

/// What happens to the running thread before an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// It loses its CPU to another one that waits for it.
    Preempted,
    /// Its CPU is busy with something else for so long.
    Delayed(Ticks),
}

/// What the seed decides.
pub struct Delays {
    random: Stream,
    /// Accesses until the next delay; one of an atomic operation counts for several.
    until_next: u64,
    /// The most is 2 to this power.
    gap: u64,
    atomic_weight: u64,
    /// Delays that remain.
    budget: u64,
    /// The longest is 2 to this power of cycles.
    longest: u64,
    /// A bit for each thread (modulo 64) that is never delayed.
    spared: u64,
    /// Atomic stores stay in the store buffer for up to 2 to this power of cycles; 0: no longer than usual.
    store: u64,
    /// Woken threads start at multiples of this many cycles, so that some start together; 0: each is late by
    /// itself.
    tick: u64,
    /// Freed memory that waits before its reuse.
    pub quarantine: u64,
    /// All delays so far.
    pub total: Ticks,
    last: VecDeque<Delay>,
}

impl Delays {
    /// `timeslice` is in cycles.
    pub fn new(seed: u64, timeslice: u64) -> Self {
        let mut random = Stream::new(seed, PURPOSE);
        let slice = u64::from(timeslice.max(1 << 8).ilog2());
        let gap = random.between(2, RAREST);
        let atomic_weight = [1, 8, 64][random.between(0, 2) as usize];
        // A few long ones, or any number of any length.
        let few = random.between(0, 1) == 0;
        let budget = if few { random.between(1, 6) } else { u64::MAX };
        let longest = if few { slice } else { random.between(SHORTEST + 4, slice) };
        let spared = if random.between(0, 1) == 0 { random.draw() } else { 0 };
        let store = if random.between(0, 1) == 0 { random.between(4, 9) } else { 0 };
        let tick = if random.between(0, 1) == 0 { random.between(10, slice - 2) } else { 0 };
        let quarantine = if random.between(0, 3) == 0 { 0 } else { QUARANTINE };
        let mut delays = Delays {
            random,
            until_next: 0,
            gap,
            atomic_weight,
            budget,
            longest,
            spared,
            store,
            tick,
            quarantine,
            total: 0,
            last: VecDeque::new(),
        };
        delays.until_next = delays.next_gap();
        delays
    }

    /// Never 0, its logarithm evenly distributed: delays come in bursts and after long pauses.
    fn next_gap(&mut self) -> u64 {
        let power = self.random.draw() % self.gap;
        (1 << power) + self.random.draw() % (1 << power)
    }

    /// Ticks of one delay, its logarithm evenly distributed.
    fn length(&mut self) -> Ticks {
        let power = SHORTEST + self.random.draw() % (self.longest - SHORTEST);
        ((1 << power) + self.random.draw() % (1 << power)) * TICKS_PER_CYCLE
    }

    /// `thread` makes an access at `pc`, which is `atomic` or not; another thread `waits` for its CPU or not.
    pub fn step(&mut self, thread: usize, atomic: bool, waits: bool, pc: u64, at: Ticks) -> Step {
        let weight = if atomic { self.atomic_weight } else { 1 };
        if self.until_next > weight {
            self.until_next -= weight;
            return Step::Nothing;
        }
        self.until_next = self.next_gap();
        if self.budget == 0 || self.spared >> (thread % 64) & 1 != 0 {
            return Step::Nothing;
        }
        self.budget -= 1;
        if waits && self.random.coin() {
            self.remember(Delay { cause: Cause::Preempted, thread, pc, at, length: 0 });
            return Step::Preempted;
        }
        let length = self.length();
        self.remember(Delay { cause: Cause::Access, thread, pc, at, length });
        self.total += length;
        Step::Delayed(length)
    }

    /// How much later an atomic store takes effect than it could, if it does.
    pub fn stored(&mut self) -> Option<Ticks> {
        if self.store == 0 || self.random.coin() {
            return None;
        }
        Some(ticks((self.random.draw() % (1 << self.store)) as u32))
    }

    /// How much later a thread begins to run that would at `time`, as it was woken or is new; `pc` is where it blocked.
    pub fn woken(&mut self, thread: usize, pc: u64, time: Ticks) -> Ticks {
        let spared = self.tick == 0 && (self.budget == 0 || self.random.coin());
        let late = match self.tick {
            _ if spared => 0,
            0 => self.length(),
            tick => time.next_multiple_of((1 << tick) * TICKS_PER_CYCLE) - time + self.random.draw() % ticks(LEEWAY),
        };
        self.total += late;
        if late > 0 {
            self.remember(Delay { cause: Cause::Wake, thread, pc, at: time, length: late });
        }
        late
    }

    fn remember(&mut self, delay: Delay) {
        let mut of_one = self.last.iter().enumerate().filter(|(_, other)| other.thread == delay.thread);
        let oldest = of_one.next().map(|(place, _)| place);
        let too_many = of_one.count() + 1 >= REMEMBERED_OF_ONE;
        match oldest.filter(|_| too_many) {
            Some(place) => drop(self.last.remove(place)),
            None if self.last.len() == REMEMBERED => drop(self.last.pop_front()),
            None => {}
        }
        self.last.push_back(delay);
    }

    /// The last delays, oldest first.
    pub fn last(&self) -> impl Iterator<Item = &Delay> {
        self.last.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const SLICE: u64 = 6_000_000;

    fn steps(delays: &mut Delays, thread: usize, count: usize) -> Vec<Step> {
        (0..count).map(|at| delays.step(thread, at % 2 == 0, at % 3 == 0, 7, at as Ticks)).collect()
    }

    #[test]
    fn seeds_differ_and_each_repeats_itself() {
        let of = |seed| steps(&mut Delays::new(seed, SLICE), 0, 100_000);
        let runs: Vec<_> = (1..9).map(of).collect();
        assert_eq!(runs[0], of(1));
        assert!((1..8).any(|other| runs[other] != runs[0]));
    }

    #[test]
    fn some_seed_delays_in_each_way() {
        let (mut delayed, mut preempted, mut spared, mut kept, mut late) = (0, 0, 0, 0, 0);
        for seed in 1..40 {
            let mut delays = Delays::new(seed, SLICE);
            let taken = steps(&mut delays, 0, 50_000);
            delayed += taken.iter().filter(|step| matches!(step, Step::Delayed(_))).count();
            preempted += taken.iter().filter(|step| **step == Step::Preempted).count();
            spared += usize::from(taken.iter().all(|step| *step == Step::Nothing));
            kept += usize::from((0..20).any(|_| delays.stored().is_some()));
            late += usize::from((0..20).any(|_| delays.woken(0, 7, 12_345) > 0));
        }
        assert!([delayed, preempted, spared, kept, late].iter().all(|count| *count > 0));
    }

    proptest! {
        #[test]
        fn delays_are_no_shorter_than_the_shortest_and_no_longer_than_a_slice(seed in 1u64..200) {
            let mut delays = Delays::new(seed, SLICE);
            let total: Ticks = steps(&mut delays, 1, 20_000).into_iter().map(|step| match step {
                Step::Delayed(length) => {
                    assert!((ticks(1 << SHORTEST)..SLICE * TICKS_PER_CYCLE).contains(&length));
                    length
                }
                _ => 0,
            }).sum();
            prop_assert_eq!(total, delays.total);
        }

        #[test]
        fn the_last_two_of_each_thread_are_remembered(threads in prop::collection::vec(0usize..6, 1..60)) {
            let mut delays = Delays::new(1, SLICE);
            for (at, thread) in (0..).zip(&threads) {
                delays.remember(Delay { cause: Cause::Wake, thread: *thread, pc: 0, at, length: 1 });
            }
            prop_assert!(delays.last().count() <= REMEMBERED);
            let newest = threads.len() as Ticks - 1;
            prop_assert!(delays.last().any(|delay| delay.at == newest));
            prop_assert!(delays.last().is_sorted_by_key(|delay| delay.at));
            for thread in 0..6 {
                prop_assert!(delays.last().filter(|delay| delay.thread == thread).count() <= REMEMBERED_OF_ONE);
            }
        }
    }
}
