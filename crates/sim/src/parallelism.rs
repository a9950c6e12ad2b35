// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads are at work at a time: on a CPU, and not in a spin. (Linux's `perf` has the word, and counts those that
//! spin.) It is known later, as a spin is known by its next turn: the threads on CPUs are counted when a sample is taken, and
//! the time that is found to be a spin's is then taken off.
use corefold_model::Ticks;

/// The past that is known, in slices.
pub struct Parallelism {
    /// A slice is so long, as a power of two.
    bits: u32,
    slices: [Slice; SLICES],
}

/// Few under test, so that places are used again.
const SLICES: usize = if cfg!(test) { 8 } else { 1024 };

#[derive(Clone, Copy)]
struct Slice {
    number: u64,
    /// Threads on CPUs; 0: they were not counted.
    threads: u64,
    /// Time of theirs that was a spin's.
    spun: Ticks,
}

impl Parallelism {
    /// So many are remembered.
    pub const SLICES: usize = SLICES;

    pub const UNKNOWN: Parallelism =
        Parallelism { bits: 0, slices: [Slice { number: u64::MAX, threads: 0, spun: 0 }; SLICES] };

    /// Slices are to be no longer than so much.
    pub fn begin(&mut self, slice: Ticks) {
        self.bits = slice.max(1).ilog2();
    }

    #[inline]
    fn slice(&mut self, number: u64) -> &mut Slice {
        let slice = &mut self.slices[number as usize % SLICES];
        if slice.number != number {
            *slice = Slice { number, threads: 0, spun: 0 };
        }
        slice
    }

    /// A sample is taken: the threads are counted, unless they were in the same slice. `on_cpus` is told when that begins:
    /// those that have skipped their spins since before do not count.
    pub fn sample(&mut self, clock: Ticks, on_cpus: impl FnOnce(Ticks) -> u64) {
        let begin = clock >> self.bits << self.bits;
        let slice = self.slice(clock >> self.bits);
        if slice.threads == 0 {
            slice.threads = on_cpus(begin).max(1);
        }
    }

    /// The time from `from` to `until` was a spin's of some thread.
    #[inline]
    pub fn spun(&mut self, from: Ticks, until: Ticks) {
        let (first, last) = (from >> self.bits, until >> self.bits);
        if first == last {
            self.slice(first).spun += until - from;
        } else {
            self.spun_in_several(from, until);
        }
    }

    #[cold]
    fn spun_in_several(&mut self, from: Ticks, until: Ticks) {
        let (first, last) = (from >> self.bits, until >> self.bits);
        for number in first.max(last.saturating_sub(SLICES as u64 - 1))..=last {
            let (begin, end) = (number << self.bits, (number + 1) << self.bits);
            self.slice(number).spun += until.min(end) - from.max(begin);
        }
    }

    /// A thread skips its spin from `from` on. In this slice it counts as a thread on a CPU, in those that follow not.
    pub fn skip_begins(&mut self, from: Ticks) {
        let end = self.end_of(from);
        self.slice(from >> self.bits).spun += end - from;
    }

    /// The skip that began at `from` ends. So much before its end is counted by whoever looks then.
    pub fn skip_ends(&mut self, from: Ticks, until: Ticks, last: Ticks) {
        let (end, long) = (self.end_of(until), 1 << self.bits);
        let same = from >> self.bits == until >> self.bits;
        let slice = self.slice(until >> self.bits);
        if same {
            slice.spun = slice.spun.saturating_sub(end - until);
        } else {
            slice.threads += u64::from(slice.threads > 0);
            slice.spun += long - (end - until);
        }
        slice.spun = slice.spun.saturating_sub(last);
    }

    fn end_of(&self, clock: Ticks) -> Ticks {
        ((clock >> self.bits) + 1) << self.bits
    }

    /// So much time of one thread at `clock`, divided by how many were at work.
    pub fn share(&mut self, time: u64, clock: Ticks) -> u64 {
        let bits = self.bits;
        let slice = self.slice(clock >> bits);
        if slice.threads == 0 {
            return 0; // not known any more
        }
        let at_work = (slice.threads << bits).saturating_sub(slice.spun).max(1 << bits);
        (u128::from(time) * (1 << bits) / u128::from(at_work)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const SLICE: Ticks = 1 << 10;

    /// So many threads are on CPUs in the first three slices.
    fn of(threads: u64) -> Parallelism {
        let mut parallelism = Parallelism::UNKNOWN;
        parallelism.begin(SLICE + 1);
        (0..3).for_each(|slice| parallelism.sample(slice * SLICE + 5, |_| threads));
        parallelism
    }

    fn at_work(parallelism: &mut Parallelism) -> [u64; 3] {
        // A time that all numbers here divide.
        [0, 1, 2].map(|slice| 840_000 / parallelism.share(840_000, slice * SLICE + 9).max(1))
    }

    #[test]
    fn threads_are_counted_once_in_a_slice() {
        let mut parallelism = of(4);
        parallelism.sample(SLICE + 7, |_| 9);
        assert_eq!(at_work(&mut parallelism), [4, 4, 4]);
        let mut begins = None;
        parallelism.sample(5 * SLICE + 3, |begin| {
            begins = Some(begin);
            0
        });
        assert_eq!((begins, parallelism.share(100, 5 * SLICE)), (Some(5 * SLICE), 100));
    }

    #[test]
    fn time_of_spins_is_taken_off_where_it_was() {
        let mut parallelism = of(4);
        parallelism.spun(0, SLICE / 2);
        parallelism.spun(SLICE / 2, SLICE + SLICE / 4);
        parallelism.spun(SLICE + SLICE / 4, 2 * SLICE);
        parallelism.spun(SLICE, 2 * SLICE);
        assert_eq!(at_work(&mut parallelism), [3, 2, 4]);
        (0..9).for_each(|_| parallelism.spun(0, SLICE));
        assert_eq!(at_work(&mut parallelism)[0], 1, "who asks is at work");
    }

    #[test]
    fn a_thread_that_skips_is_not_at_work_meanwhile() {
        // One of four skips from the midst of the first slice to that of the third: a quarter of each is its own.
        for counted_first in [true, false] {
            let mut parallelism = Parallelism::UNKNOWN;
            parallelism.begin(SLICE);
            parallelism.sample(5, |_| 4);
            parallelism.skip_begins(SLICE / 2);
            parallelism.sample(SLICE, |_| 3);
            if counted_first {
                parallelism.sample(2 * SLICE, |_| 3);
            }
            parallelism.skip_ends(SLICE / 2, 2 * SLICE + SLICE / 2, 0);
            parallelism.sample(2 * SLICE + SLICE / 2, |_| 4);
            let shares = [0, 1, 2].map(|slice| parallelism.share(2100, slice * SLICE));
            assert_eq!(shares, [600, 700, 600], "{counted_first}");
        }
    }

    #[test]
    fn a_short_skip_takes_off_what_it_lasted() {
        let mut parallelism = of(4);
        parallelism.skip_begins(SLICE / 4);
        parallelism.skip_ends(SLICE / 4, SLICE / 2, 0);
        assert_eq!(parallelism.share(3750, 0), 1000);
    }

    #[test]
    fn what_is_long_past_is_not_known() {
        let mut parallelism = of(4);
        parallelism.sample(SLICES as u64 * SLICE, |_| 2);
        assert_eq!(parallelism.share(100, 0), 0);
        parallelism.spun(0, 3 * SLICES as u64 * SLICE);
        assert_eq!(parallelism.share(100, 2 * SLICE), 0);
    }

    proptest! {
        /// Against slices that are all remembered, of which each is known until another takes its place.
        #[test]
        fn each_slice_is_known_until_its_place_is_used_again(
            calls in prop::collection::vec((0u64..40 * SLICE, 0u64..3 * SLICE, 1u64..5, any::<bool>()), 1..60),
        ) {
            let mut parallelism = Parallelism::UNKNOWN;
            parallelism.begin(SLICE);
            // By place: the number of its slice, threads, time of spins.
            let mut known: BTreeMap<u64, (u64, u64, Ticks)> = BTreeMap::new();
            let of = |known: &mut BTreeMap<u64, (u64, u64, Ticks)>, number: u64| {
                let slot = known.entry(number % SLICES as u64).or_default();
                if slot.0 != number {
                    *slot = (number, 0, 0);
                }
                *slot
            };
            for (clock, time, threads, samples) in calls {
                let number = clock / SLICE;
                if samples {
                    parallelism.sample(clock, |_| threads);
                    let (_, before, spun) = of(&mut known, number);
                    let threads = if before == 0 { threads } else { before };
                    known.insert(number % SLICES as u64, (number, threads, spun));
                } else {
                    parallelism.spun(clock, clock + time);
                    for number in number..=(clock + time) / SLICE {
                        let (_, threads, spun) = of(&mut known, number);
                        let (begin, end) = (number * SLICE, (number + 1) * SLICE);
                        let its = (clock + time).min(end) - clock.max(begin);
                        known.insert(number % SLICES as u64, (number, threads, spun + its));
                    }
                }
                let (_, threads, spun) = of(&mut known, number);
                let at_work = (threads * SLICE).saturating_sub(spun).max(SLICE);
                let share = if threads == 0 { 0 } else { 1_000_000 * SLICE / at_work };
                prop_assert_eq!(parallelism.share(1_000_000, clock), share);
            }
        }
    }
}
