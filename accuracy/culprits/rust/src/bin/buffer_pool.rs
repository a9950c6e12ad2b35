// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers come from one pool, a `Mutex<Vec<Vec<u8>>>`, and go back there.
//! The twin: each worker has a pool of its own.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::sync::Mutex;

#[derive(Default)]
struct Pool {
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl Pool {
    fn get(&self) -> Vec<u8> {
        self.buffers.lock().unwrap().pop().unwrap_or_else(|| vec![0; 256])
    }

    fn put(&self, buffer: Vec<u8>) {
        self.buffers.lock().unwrap().push(buffer);
    }
}

fn main() {
    let (threads, operations) = arguments();
    let shared = Pool::default();
    let sent = on_threads(threads, operations, |_, share| {
        let own = Pool::default();
        let pool = if TWIN { &own } else { &shared };
        let send = |packet: usize| {
            let mut buffer = pool.get();
            buffer[packet % 256] = work(packet as u64, 40) as u8;
            pool.put(buffer);
            1
        };
        (0..share).map(send).sum()
    });
    check("packets", sent, operations);
}
