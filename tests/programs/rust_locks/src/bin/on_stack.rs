// SPDX-License-Identifier: MIT OR Apache-2.0
//! `on_stack THREADS`: threads that meet at a barrier in the frame of `main`. Only std's compiled part writes its words.
use std::sync::Barrier;

struct Solver {
    step_done: Barrier,
}

fn main() {
    let threads = std::env::args().nth(1).unwrap().parse().unwrap();
    let solver = Solver { step_done: Barrier::new(threads) };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..10).for_each(|_| drop(solver.step_done.wait())));
        }
    });
    println!("{threads} threads");
}
