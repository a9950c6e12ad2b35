// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads send the first messages of a channel; then one of them drops the receiver.
use std::sync::Barrier;

fn main() {
    for _ in 0..8 {
        let (sender, receiver) = crossbeam_channel::unbounded::<Box<u64>>();
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                drop(sender.send(Box::new(1)));
            });
            start.wait();
            drop(sender.send(Box::new(2)));
            drop(receiver);
        });
    }
}
