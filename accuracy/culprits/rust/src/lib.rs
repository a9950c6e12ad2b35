// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs share: their arguments, their threads, and work that touches nothing shared.
use std::sync::Barrier;

/// Is this the program without the fault?
pub const TWIN: bool = cfg!(feature = "twin");

/// Number of threads and of operations in all.
pub fn arguments() -> (usize, usize) {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().expect("THREADS OPERATIONS"));
    (numbers.next().unwrap_or(2), numbers.next().unwrap_or(100_000))
}

/// Runs `body` on each of so many threads, with the thread's number and its share of the operations, and adds up what
/// they return. They begin together.
pub fn on_threads(threads: usize, operations: usize, body: impl Fn(usize, usize) -> u64 + Sync) -> u64 {
    let start = Barrier::new(threads);
    let share = |t: usize| operations * (t + 1) / threads - operations * t / threads;
    let run = |t: usize| {
        start.wait();
        body(t, share(t))
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|t| scope.spawn(move || run(t))).collect();
        all.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    })
}

/// Computes for a while; the result is odd.
pub fn work(seed: u64, rounds: u32) -> u64 {
    let step = |state: u64, _| (state ^ state >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..rounds).fold(seed | 1, step) | 1
}

/// Ends the program with what was counted against what it must be.
pub fn check(what: &str, found: u64, expected: usize) {
    println!("{found} {what}");
    assert_eq!(found, expected as u64, "{what}");
}
