// SPDX-License-Identifier: MIT OR Apache-2.0
//! The core-to-core latency of two CPUs. A hypervisor that does not pin its virtual CPUs migrates them every few seconds:
//! within what shares a last-level cache, beyond that, or to the hardware threads of one core. A measurement of two CPUs
//! counts if their latency before it and after is the usual one.
use crate::topology::pin;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Latencies in this ratio are the same, but for noise and for where the home of the word is.
const SAME: f64 = 1.5;
/// Attempts at a measurement, if the CPUs are migrated during each.
const TRIES: u32 = 8;
/// Samples whose median is the usual latency, and the time between two.
const SAMPLES: u32 = 51;
const PAUSE: Duration = Duration::from_millis(20);

fn is_same(a: f64, b: f64) -> bool {
    a.max(b) <= a.min(b) * SAME
}

pub struct Distance<Probe> {
    /// Nanoseconds now.
    probe: Probe,
    pub usual: f64,
    /// Another latency was met.
    pub moved: Cell<bool>,
    /// For how long it may still wait for the usual latency.
    wait_budget: Cell<Duration>,
}

impl<Probe: Fn() -> f64> Distance<Probe> {
    /// Takes a second.
    pub fn new(probe: Probe, wait_budget: Duration) -> Distance<Probe> {
        let mut samples: Vec<f64> = Vec::new();
        for _ in 0..SAMPLES {
            samples.push(probe());
            std::thread::sleep(PAUSE);
        }
        samples.sort_by(f64::total_cmp);
        Distance {
            probe,
            usual: samples[samples.len() / 2],
            moved: Cell::new(false),
            wait_budget: Cell::new(wait_budget),
        }
    }

    fn is_usual(&self) -> bool {
        let is = is_same((self.probe)(), self.usual);
        self.moved.set(self.moved.get() || !is);
        is
    }

    fn wait(&self) -> bool {
        loop {
            let begun = Instant::now();
            let is = self.is_usual();
            if is || self.wait_budget.get().is_zero() {
                return is;
            }
            std::thread::sleep(PAUSE);
            self.spend(begun.elapsed());
        }
    }

    /// What `measure` says, and whether the latency was the usual one before it and after.
    pub fn measure<T>(&self, mut measure: impl FnMut() -> T) -> (T, bool) {
        let mut tries = 0;
        loop {
            let before = self.wait();
            let begun = Instant::now();
            let value = measure();
            let usual = self.is_usual() && before;
            tries += 1;
            if usual || tries == TRIES || self.wait_budget.get().is_zero() {
                return (value, usual);
            }
            self.spend(begun.elapsed());
        }
    }

    fn spend(&self, time: Duration) {
        self.wait_budget.set(self.wait_budget.get().saturating_sub(time));
    }
}

/// Nanoseconds for which a word is on its way between two CPUs, one way, that hand it to and fro; the best of some
/// times, as a thread may be interrupted. Infinite where that takes long: something else runs on one of them.
pub fn between(a: usize, b: usize) -> f64 {
    const TIMES: u64 = 30;
    const EACH: u64 = 500;
    const LONGEST: Duration = Duration::from_millis(200);
    #[repr(align(128))]
    struct Alone<T>(T);
    let (word, given_up) = (Alone(AtomicU64::new(0)), Alone(AtomicBool::new(false)));
    let all = Instant::now();
    let arrives = |value: u64| {
        let mut looks = 0u32;
        while word.0.load(SeqCst) != value {
            std::hint::spin_loop();
            looks += 1;
            if looks.is_multiple_of(1 << 12) {
                given_up.0.fetch_or(all.elapsed() > LONGEST, SeqCst);
                if given_up.0.load(SeqCst) {
                    return false;
                }
                std::thread::yield_now();
            }
        }
        true
    };
    let hand_on = |own: u64| {
        let mut least = f64::INFINITY;
        for time in 0..TIMES {
            let begun = Instant::now();
            for round in time * EACH..(time + 1) * EACH {
                if !arrives(2 * round + own) {
                    return f64::INFINITY;
                }
                word.0.store(2 * round + own + 1, SeqCst);
            }
            least = least.min(begun.elapsed().as_nanos() as f64 / (2 * EACH) as f64);
        }
        least
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(b);
            hand_on(1)
        });
        let first = scope.spawn(|| {
            pin(a);
            hand_on(0)
        });
        first.join().expect("it does not panic")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    /// Measurements of CPUs that were so far apart at first, and then at each look, and whether that was usual.
    fn measured(usual: f64, then: &[f64], count: usize, wait_budget: Duration) -> Vec<(usize, bool)> {
        let samples = Cell::new(0_usize);
        let probe = || {
            samples.set(samples.get() + 1);
            let later = samples.get().saturating_sub(SAMPLES as usize);
            if later == 0 { usual } else { then[(later - 1).min(then.len() - 1)] }
        };
        let distance = Distance::new(probe, wait_budget);
        (0..count).map(|_| distance.measure(|| samples.get() - SAMPLES as usize)).collect()
    }

    #[test]
    fn what_is_measured_while_cpus_are_moved_is_measured_again() {
        let wait_budget = Duration::from_secs(60);
        assert_eq!(measured(26.0, &[26.0, 28.0], 2, wait_budget), [(1, true), (3, true)]);
        // The second time they are elsewhere at first, and then moved meanwhile.
        let moved = [26.0, 26.0, 165.0, 14.0, 27.0, 160.0, 28.0, 26.0];
        assert_eq!(measured(26.0, &moved, 2, wait_budget), [(1, true), (7, true)]);
    }

    #[test]
    fn cpus_that_stay_elsewhere_are_waited_for_so_long() {
        assert_eq!(measured(26.0, &[26.0, 26.0, 165.0], 2, PAUSE / 2), [(1, true), (4, false)]);
    }

    #[test]
    fn so_many_attempts_are_made() {
        // Usual before each, and never after.
        let samples = Cell::new(0_u32);
        let probe = || {
            samples.set(samples.get() + 1);
            let later = samples.get().saturating_sub(SAMPLES);
            if later.is_multiple_of(2) && later > 0 { 165.0 } else { 26.0 }
        };
        let attempts = Cell::new(0);
        let count = || attempts.set(attempts.get() + 1);
        assert!(!Distance::new(probe, Duration::from_secs(60)).measure(count).1);
        assert_eq!(attempts.get(), TRIES);
        samples.set(0);
        attempts.set(0);
        let slow = || {
            std::thread::sleep(PAUSE);
            count();
        };
        assert!(!Distance::new(probe, PAUSE * 3 / 2).measure(slow).1);
        assert_eq!(attempts.get(), 3, "each takes its part of what may be spent");
    }

    #[test]
    fn two_cpus_that_are_one_are_given_up() {
        // Each waits for the other's time slice. Not every host lets us run on its CPU 0.
        let cpu = Topology::read().cpus[0].number;
        assert!(between(cpu, cpu) > 1000.0);
    }
}
