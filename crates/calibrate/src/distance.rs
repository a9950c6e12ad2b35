// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far two CPUs are from each other. Where a hypervisor does not pin its virtual CPUs, it moves them every few seconds:
//! to cores that share a cache, to others, or to one core's hardware threads. What is measured of both together counts
//! while they are as far apart as usual.
use crate::topology::pin;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Distances in this ratio are the same, but for noise and for where the home of the word is.
const SAME: f64 = 1.5;
/// A measurement during which the CPUs were moved is taken again so often.
const TRIES: u32 = 8;
/// Looks that decide what is usual, and the time between two.
const LOOKS: u32 = 51;
const PAUSE: Duration = Duration::from_millis(20);

fn is_same(a: f64, b: f64) -> bool {
    a.max(b) <= a.min(b) * SAME
}

pub struct Distance<Probe> {
    /// Nanoseconds now.
    probe: Probe,
    pub usual: f64,
    /// It was another once.
    pub moved: Cell<bool>,
    /// For how long it may still wait for the usual distance.
    patience: Cell<Duration>,
}

impl<Probe: Fn() -> f64> Distance<Probe> {
    /// Takes a second.
    pub fn new(probe: Probe, patience: Duration) -> Distance<Probe> {
        let mut looks: Vec<f64> = Vec::new();
        for _ in 0..LOOKS {
            looks.push(probe());
            std::thread::sleep(PAUSE);
        }
        looks.sort_by(f64::total_cmp);
        Distance { probe, usual: looks[looks.len() / 2], moved: Cell::new(false), patience: Cell::new(patience) }
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
            if is || self.patience.get().is_zero() {
                return is;
            }
            std::thread::sleep(PAUSE);
            self.patience.set(self.patience.get().saturating_sub(begun.elapsed()));
        }
    }

    /// What `measure` says, and whether the CPUs were as far apart as usual before it and after.
    pub fn measure<T>(&self, mut measure: impl FnMut() -> T) -> (T, bool) {
        let mut attempt = || {
            let before = self.wait();
            let value = measure();
            (value, self.is_usual() && before)
        };
        let mut last = attempt();
        for _ in 1..TRIES {
            if last.1 || self.patience.get().is_zero() {
                break;
            }
            last = attempt();
        }
        last
    }
}

/// Nanoseconds for which a word is on its way between two CPUs, one way, that hand it to and fro; the best of a few
/// times, as a thread may be interrupted. Under a millisecond where nothing does.
pub fn between(a: usize, b: usize) -> f64 {
    const TIMES: u64 = 5;
    const EACH: u64 = 300;
    #[repr(align(128))]
    struct Alone(AtomicU64);
    let word = Alone(AtomicU64::new(0));
    let hand_on = |own: u64| {
        let once = |time: u64| {
            let begun = Instant::now();
            for round in time * EACH..(time + 1) * EACH {
                while word.0.load(SeqCst) != 2 * round + own {
                    std::hint::spin_loop();
                }
                word.0.store(2 * round + own + 1, SeqCst);
            }
            begun.elapsed().as_nanos() as f64 / (2 * EACH) as f64
        };
        (0..TIMES).map(once).fold(f64::INFINITY, f64::min)
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

    /// Measurements of CPUs that were so far apart at first, and then at each look, and whether that was usual.
    fn measured(usual: f64, then: &[f64], count: usize, patience: Duration) -> Vec<(usize, bool)> {
        let looks = Cell::new(0_usize);
        let probe = || {
            looks.set(looks.get() + 1);
            let later = looks.get().saturating_sub(LOOKS as usize);
            if later == 0 { usual } else { then[(later - 1).min(then.len() - 1)] }
        };
        let distance = Distance::new(probe, patience);
        (0..count).map(|_| distance.measure(|| looks.get() - LOOKS as usize)).collect()
    }

    #[test]
    fn what_is_measured_while_cpus_are_moved_is_measured_again() {
        let patience = Duration::from_secs(60);
        assert_eq!(measured(26.0, &[26.0, 28.0], 2, patience), [(1, true), (3, true)]);
        // The second time they are elsewhere at first, and then moved meanwhile.
        let moved = [26.0, 26.0, 165.0, 14.0, 27.0, 160.0, 28.0, 26.0];
        assert_eq!(measured(26.0, &moved, 2, patience), [(1, true), (7, true)]);
    }

    #[test]
    fn cpus_that_stay_elsewhere_are_waited_for_so_long() {
        assert_eq!(measured(26.0, &[26.0, 26.0, 165.0], 2, PAUSE / 2), [(1, true), (4, false)]);
    }
}
