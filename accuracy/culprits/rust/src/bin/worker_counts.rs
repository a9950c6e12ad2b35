// SPDX-License-Identifier: MIT OR Apache-2.0
//! One counter for each worker, side by side in a `Vec<AtomicU64>`.
//! The twin: each counter has cache lines of its own.
use rust_culprits::{arguments, check, on_threads, work};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
#[cfg_attr(feature = "twin", repr(align(128)))]
struct Count {
    jobs: AtomicU64,
}

struct Pool {
    counts: Vec<Count>,
}

fn main() {
    let (threads, operations) = arguments();
    let pool = Pool { counts: (0..threads).map(|_| Count::default()).collect() };
    on_threads(threads, operations, |t, share| {
        (0..share).fold(1, |state, _| {
            pool.counts[t].jobs.fetch_add(1, Relaxed);
            work(state, 40)
        })
    });
    check("jobs", pool.counts.iter().map(|count| count.jobs.load(Relaxed)).sum(), operations);
}
