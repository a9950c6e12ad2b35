// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads set their values while another looks at all of them.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use thread_local::ThreadLocal;

type Value = [u64; 4];
const VALUE: Value = [0x5a5a; 4];

/// Waits for the others without leaving the CPU: then all go on at the same time.
fn meet(missing: &AtomicU32) {
    missing.fetch_sub(1, Relaxed);
    while missing.load(Relaxed) > 0 {
        std::hint::spin_loop();
    }
}

fn main() {
    for _ in 0..4 {
        let (values, start) = (ThreadLocal::<Value>::new(), AtomicU32::new(3));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    meet(&start);
                    values.get_or(|| VALUE);
                });
            }
            meet(&start);
            for _ in 0..8 {
                values.iter().for_each(|value| assert_eq!(*value, VALUE));
            }
        });
    }
}
