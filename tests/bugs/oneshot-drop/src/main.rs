// SPDX-License-Identifier: MIT OR Apache-2.0
//! A receiver that was polled once goes while the value is sent.
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

fn main() {
    for _ in 0..8 {
        let (sender, mut receiver) = oneshot::channel::<Box<u64>>();
        let polled = Pin::new(&mut receiver).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        let sending = std::thread::spawn(move || drop(sender.send(Box::new(7))));
        drop(receiver);
        sending.join().unwrap();
    }
}
