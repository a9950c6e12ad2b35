// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that end at a `Barrier`, in which one worker has two shares.
//! The twin: equal shares.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::hint::black_box;
use std::sync::Barrier;

const STEPS: usize = 50;

struct Solver {
    step_done: Barrier,
}

impl Solver {
    fn step(&self, t: usize, share: usize) -> u64 {
        let share = if t == 0 && !TWIN { 2 * share } else { share };
        black_box(work(t as u64, share as u32));
        self.step_done.wait();
        1
    }
}

fn main() {
    let (threads, operations) = arguments();
    let solver = Solver { step_done: Barrier::new(threads) };
    let done = on_threads(threads, operations, |t, share| (0..STEPS).map(|_| solver.step(t, share / STEPS)).sum());
    check("steps", done, STEPS * threads);
}
