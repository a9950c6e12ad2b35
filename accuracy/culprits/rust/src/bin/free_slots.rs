// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free slots in one `crossbeam_queue::ArrayQueue`, from which each operation takes one and puts it back.
//! The twin: a queue for each thread.
use crossbeam_queue::ArrayQueue;
use rust_culprits::{TWIN, arguments, check, on_threads, work};

struct Slots {
    free: ArrayQueue<u64>,
}

impl Slots {
    fn new(count: usize) -> Slots {
        let slots = Slots { free: ArrayQueue::new(count) };
        (0..count as u64).for_each(|slot| slots.put(slot));
        slots
    }

    fn put(&self, slot: u64) {
        self.free.push(slot).expect("room");
    }
}

fn main() {
    let (threads, operations) = arguments();
    let shared = Slots::new(4 * threads);
    let done = on_threads(threads, operations, |_, share| {
        let own = Slots::new(4);
        let slots = if TWIN { &own } else { &shared };
        let operate = |n: usize| {
            let slot = slots.free.pop().expect("a slot");
            std::hint::black_box(work(n as u64 ^ slot, 40));
            slots.put(slot);
            1
        };
        (0..share).map(operate).sum()
    });
    check("operations", done, operations);
}
