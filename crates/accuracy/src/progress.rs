// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is being done, and how long it will take.
use std::time::Instant;

pub struct Progress {
    what: &'static str,
    steps: usize,
    done: usize,
    begun: Instant,
    /// What was printed last.
    last: String,
}

impl Progress {
    pub fn of(what: &'static str, steps: usize) -> Progress {
        Progress { what, steps, done: 0, begun: Instant::now(), last: String::new() }
    }

    /// The next step begins; it is printed, unless it has the name of the last one.
    pub fn step(&mut self, name: &str) {
        let left = match self.done {
            0 => String::new(),
            done => {
                let each = self.begun.elapsed().as_secs_f64() / done as f64;
                format!(", {:.0} s left", each * (self.steps - done) as f64)
            }
        };
        self.done += 1;
        // There may be more than were expected.
        self.steps = self.steps.max(self.done);
        if name != self.last {
            eprintln!("{} {}/{}{left}: {name}", self.what, self.done, self.steps);
            name.clone_into(&mut self.last);
        }
    }
}
