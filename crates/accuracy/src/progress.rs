// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is being done, and how long it will take.
use std::time::{Duration, Instant};

pub struct Progress {
    what: &'static str,
    steps: usize,
    done: usize,
    /// The steps that took time, and how much.
    timed: (u32, Duration),
    /// When the last one began.
    begun: Instant,
    /// What was printed last.
    last: String,
}

/// A step that takes less has a kept result: it says nothing of how long others take.
const KEPT: Duration = Duration::from_millis(100);

impl Progress {
    pub fn of(what: &'static str, steps: usize) -> Progress {
        let timed = (0, Duration::ZERO);
        Progress { what, steps, done: 0, timed, begun: Instant::now(), last: String::new() }
    }

    /// The next step begins; it is printed, unless it has the name of the last one.
    pub fn step(&mut self, name: &str) {
        let took = self.begun.elapsed();
        self.begun = Instant::now();
        let left = self.left(took);
        self.done += 1;
        // There may be more than were expected.
        self.steps = self.steps.max(self.done);
        if name != self.last {
            eprintln!("{} {}/{}{left}: {name}", self.what, self.done, self.steps);
            name.clone_into(&mut self.last);
        }
    }

    /// How long the others will take, if that can be told, after a step that took so long.
    fn left(&mut self, took: Duration) -> String {
        let (steps, time) = &mut self.timed;
        if self.done > 0 && took >= KEPT {
            (*steps, *time) = (*steps + 1, *time + took);
        }
        if *steps == 0 {
            return String::new();
        }
        let left = (self.steps - self.done) as f64 * time.as_secs_f64() / f64::from(*steps);
        format!(", {left:.0} s left")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_whose_results_are_kept_do_not_count() {
        let mut progress = Progress::of("test", 4);
        assert_eq!(progress.left(Duration::from_secs(9)), "", "before the first step");
        progress.done = 1;
        assert_eq!(progress.left(Duration::from_millis(1)), "");
        progress.done = 2;
        assert_eq!(progress.left(Duration::from_secs(10)), ", 20 s left");
    }
}
