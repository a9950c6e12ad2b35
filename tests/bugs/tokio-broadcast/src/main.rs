// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sender goes round a small buffer while receivers read it.
use futures::executor::block_on;
use tokio::sync::broadcast::{self, RecvError};

fn main() {
    let (sender, _) = broadcast::channel::<u64>(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut receiver = sender.subscribe();
            scope.spawn(move || while !matches!(block_on(receiver.recv()), Err(RecvError::Closed)) {});
        }
        (0..20).for_each(|value| _ = sender.send(value));
        drop(sender);
    });
}
