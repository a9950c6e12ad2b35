// SPDX-License-Identifier: MIT OR Apache-2.0
//! An update that is lost under some schedules.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static TURNS: AtomicU32 = AtomicU32::new(0);

fn main() {
    let add = || (0..20).for_each(|_| TURNS.store(TURNS.load(Relaxed) + 1, Relaxed));
    std::thread::scope(|scope| [0; 2].map(|_| scope.spawn(add)).map(|thread| thread.join().unwrap()));
    assert_eq!(TURNS.load(Relaxed), 40);
}
