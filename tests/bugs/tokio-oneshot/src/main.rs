// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value is sent while the receiver closes the channel and looks: one of the two ends has it then.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::oneshot;

/// Waits for the others without leaving the CPU: then all go on at the same time.
fn meet(missing: &AtomicU32) {
    missing.fetch_sub(1, Relaxed);
    while missing.load(Relaxed) > 0 {
        std::hint::spin_loop();
    }
}

fn main() {
    for _ in 0..16 {
        let (sender, mut receiver) = oneshot::channel::<Box<u64>>();
        let start = AtomicU32::new(2);
        let [received, back] = std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                meet(&start);
                sender.send(Box::new(7)).err()
            });
            meet(&start);
            receiver.close();
            [receiver.try_recv().ok(), sending.join().unwrap()]
        });
        assert!(received.is_some() != back.is_some(), "{received:?} {back:?}");
    }
}
