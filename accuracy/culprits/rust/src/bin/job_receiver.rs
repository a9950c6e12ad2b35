// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workers take jobs from one channel, whose receiver is in a `Mutex`.
//! The twin: a channel for each worker.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};

struct Pool {
    receiver: Mutex<Receiver<u64>>,
}

impl Pool {
    fn next(&self) -> Option<u64> {
        self.receiver.lock().unwrap().recv().ok()
    }
}

fn filled(jobs: usize) -> Pool {
    let (sender, receiver) = mpsc::channel();
    (0..jobs as u64).for_each(|job| sender.send(job).expect("there is a receiver"));
    Pool { receiver: Mutex::new(receiver) }
}

fn main() {
    let (threads, operations) = arguments();
    let shared = filled(if TWIN { 0 } else { operations });
    let done = on_threads(threads, operations, |_, share| {
        let own = filled(if TWIN { share } else { 0 });
        let pool = if TWIN { &own } else { &shared };
        std::iter::from_fn(|| pool.next()).map(|job| work(job, 40) & 1).sum()
    });
    check("jobs", done, operations);
}
