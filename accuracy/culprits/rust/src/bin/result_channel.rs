// SPDX-License-Identifier: MIT OR Apache-2.0
//! All workers send each result through one channel.
//! The twin: each adds up its own, and sends the sum.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::sync::mpsc::{self, Sender};

struct Worker {
    results: Sender<u64>,
}

impl Worker {
    fn report(&self, result: u64) {
        self.results.send(result).expect("there is a receiver");
    }
}

fn main() {
    let (threads, operations) = arguments();
    let (results, receiver) = mpsc::channel();
    on_threads(threads, operations, |_, share| {
        let worker = Worker { results: results.clone() };
        let job = |job| work(job as u64, 40) & 1;
        if TWIN {
            worker.report((0..share).map(job).sum());
        } else {
            (0..share).for_each(|number| worker.report(job(number)));
        }
        0
    });
    drop(results);
    check("results", receiver.iter().sum(), operations);
}
