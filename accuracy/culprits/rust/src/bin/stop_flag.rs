// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flag that all workers look at stands beside a count that one of them writes all the time.
//! The twin: the count has cache lines of its own.
use rust_culprits::{arguments, check, on_threads, work};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

#[derive(Default)]
#[cfg_attr(feature = "twin", repr(align(128)))]
struct Ticks {
    count: AtomicU64,
}

#[derive(Default)]
struct Control {
    stop: AtomicBool,
    ticks: Ticks,
}

fn main() {
    let (threads, operations) = arguments();
    let control = Box::new(Control::default());
    let polled = on_threads(threads, operations, |t, share| {
        (0..share)
            .filter(|&n| {
                std::hint::black_box(work(n as u64, 10));
                if t == 0 {
                    control.ticks.count.fetch_add(1, SeqCst);
                }
                !control.stop.load(SeqCst)
            })
            .count() as u64
    });
    check("rounds", polled, operations);
}
