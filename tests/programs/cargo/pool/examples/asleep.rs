// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lost wake-up: who opens the gate does not take the mutex, and may come between the other's look and its sleep.
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};

#[derive(Default)]
struct Gate {
    is_near: AtomicBool,
    is_open: AtomicBool,
    mutex: Mutex<()>,
    opened: Condvar,
}

impl Gate {
    fn wait(&self) {
        let mut guard = self.mutex.lock().expect("no thread panics");
        self.is_near.store(true, SeqCst);
        while !self.is_open.load(SeqCst) {
            guard = self.opened.wait(guard).expect("no thread panics");
        }
    }

    fn open(&self) {
        self.is_open.store(true, SeqCst);
        self.opened.notify_all();
    }
}

fn main() {
    for _ in 0..5 {
        let gate = Gate::default();
        std::thread::scope(|scope| {
            scope.spawn(|| gate.wait());
            while !gate.is_near.load(SeqCst) {
                std::hint::spin_loop();
            }
            gate.open();
        });
    }
}
