// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long wake-ups take.
use crate::random::Stream;
use alloc::vec::Vec;
use corefold_model::{Machine, Ticks, ticks};

/// The square root of three, in 1024ths: of numbers that are drawn evenly, the distance of the farthest from their mean in
/// standard deviations.
const FARTHEST: u64 = 1774;
/// What the numbers are for.
const PURPOSE: u64 = 0x77616b65 << 32;

pub struct Wakes {
    usual: Ticks,
    width: Ticks,
    /// Of each thread.
    counts: Vec<u64>,
}

impl Wakes {
    pub fn new(machine: &Machine) -> Wakes {
        let usual = ticks(machine.system.wake);
        let width = (usual * u64::from(machine.system.wake_spread) * FARTHEST / 100) >> 10;
        Wakes { usual, width: width.min(usual), counts: Vec::new() }
    }

    /// The next wake-up of `thread`: from the call until it runs on an idle CPU. Other threads' do not change it.
    pub fn next(&mut self, thread: usize) -> Ticks {
        if self.width == 0 {
            return self.usual;
        }
        if self.counts.len() <= thread {
            self.counts.resize(thread + 1, 0);
        }
        self.counts[thread] += 1;
        let drawn = Stream::new(thread as u64, PURPOSE | self.counts[thread]).draw();
        self.usual - self.width + drawn % (2 * self.width + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use proptest::prelude::*;

    #[test]
    fn wake_ups_vary_as_the_machine_says_and_alike_in_every_run() {
        let drawn = || {
            let mut wakes = Wakes { usual: 100_000, width: (100_000 * 20 * FARTHEST / 100) >> 10, counts: Vec::new() };
            (0..4000).map(|_| wakes.next(3) as f64).collect::<Vec<f64>>()
        };
        let all = drawn();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let deviation = (all.iter().map(|at| (at - mean) * (at - mean)).sum::<f64>() / all.len() as f64).sqrt();
        assert!(
            (99_000.0..101_000.0).contains(&mean) && (19_000.0..21_000.0).contains(&deviation),
            "{mean} {deviation}"
        );
        assert_eq!(all, drawn());
    }

    #[test]
    fn another_threads_wake_ups_change_none() {
        let mut one = Wakes { usual: 1000, width: 500, counts: Vec::new() };
        let mut other = Wakes { usual: 1000, width: 500, counts: Vec::new() };
        let alone: Vec<Ticks> = (0..10).map(|_| one.next(1)).collect();
        let beside: Vec<Ticks> = (0..10).map(|_| (other.next(2), other.next(1)).1).collect();
        assert_eq!(alone, beside);
    }

    #[test]
    fn without_a_spread_all_take_the_usual_time() {
        let mut wakes = Wakes::new(&machine());
        let usual = ticks(machine().system.wake);
        assert_eq!([wakes.next(5), wakes.next(0), wakes.next(5)], [usual; 3]);
    }

    proptest! {
        /// None comes before its call, however wide the spread; with one of its own for each thread.
        #[test]
        fn they_lie_around_the_usual_time(wake in 0u32..5_000, spread in 1u32..200, thread in 0usize..50) {
            let mut machine = machine();
            (machine.system.wake, machine.system.wake_spread) = (wake, spread);
            let (mut wakes, usual) = (Wakes::new(&machine), ticks(wake));
            // Drawn evenly, the farthest is the square root of three standard deviations away; which is rounded to 1024ths.
            let root = (3f64.sqrt() * 1024.0).round() / 1024.0;
            let farthest = usual as f64 * (f64::from(spread) / 100.0 * root).min(1.0);
            for _ in 0..50 {
                let away = wakes.next(thread).abs_diff(usual);
                prop_assert!(away as f64 <= farthest + 1.0, "{away} {farthest}");
            }
        }
    }
}
