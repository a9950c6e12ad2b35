// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread steals a batch while the owner's buffer grows, and the owner pops tasks and pushes others: each is to be had
//! once.
use crossbeam_deque::{Steal, Worker};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// As many as the first buffer has room for.
const FIRST: usize = 64;
const LATER: usize = 60;

/// Waits for the others without leaving the CPU: then all go on at the same time.
fn meet(missing: &AtomicU32) {
    missing.fetch_sub(1, Relaxed);
    while missing.load(Relaxed) > 0 {
        std::hint::spin_loop();
    }
}

fn main() {
    let taken: Vec<AtomicU32> = (0..FIRST + LATER).map(|_| AtomicU32::new(0)).collect();
    let took = |task: usize| _ = taken[task].fetch_add(1, Relaxed);
    let (own, start) = (Worker::new_lifo(), AtomicU32::new(2));
    (0..FIRST).for_each(|task| own.push(task));
    let stealer = own.stealer();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let stolen = Worker::new_lifo();
            meet(&start);
            if let Steal::Success(task) = stealer.steal_batch_and_pop(&stolen) {
                took(task);
            }
            while let Some(task) = stolen.pop() {
                took(task);
            }
        });
        meet(&start);
        own.push(FIRST);
        (0..LATER).filter_map(|_| own.pop()).for_each(took);
        (FIRST + 1..FIRST + LATER).for_each(|task| own.push(task));
    });
    while let Some(task) = own.pop() {
        took(task);
    }
    for (task, times) in taken.iter().enumerate() {
        assert_eq!(times.load(Relaxed), 1, "task {task}");
    }
}
