// SPDX-License-Identifier: MIT OR Apache-2.0
//! An upgradable lock lets readers in: its holder waits for one, while another thread wants an upgradable lock.
use parking_lot::RwLock;
use std::sync::mpsc;

fn main() {
    let lock = RwLock::new(7);
    let (locked, begin) = mpsc::channel();
    let (read, has_read) = mpsc::channel();
    std::thread::scope(|scope| {
        let (lock, others) = (&lock, locked.clone());
        scope.spawn(move || {
            let held = lock.upgradable_read();
            locked.send(()).unwrap();
            others.send(()).unwrap();
            assert_eq!(*held, has_read.recv().unwrap());
        });
        begin.recv().unwrap();
        scope.spawn(move || drop(lock.upgradable_read()));
        begin.recv().unwrap();
        read.send(*lock.read()).unwrap();
    });
}
