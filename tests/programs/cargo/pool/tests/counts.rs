// SPDX-License-Identifier: MIT OR Apache-2.0
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

#[test]
fn all_are_counted() {
    assert_eq!(pool::count(4), 4 * 10_000);
}

#[test]
#[should_panic(expected = "at the end")]
fn panics_unwind() {
    assert_eq!(pool::mixed(1), 1, "at the end");
}

#[test]
fn the_package_is_the_directory() {
    assert!(std::path::Path::new("c/mix.c").is_file());
}

/// Peterson's lock needs a fence between its stores and its load, and rustc has no hook for this one.
#[test]
fn a_fence_of_the_processor_is_one() {
    static WANTS: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
    static TURN: AtomicUsize = AtomicUsize::new(0);
    static COUNTED: AtomicUsize = AtomicUsize::new(0);
    let count = |me: usize| {
        let other = 1 - me;
        for _ in 0..2000 {
            WANTS[me].store(true, Release);
            TURN.store(other, Release);
            // SAFETY: each x86-64 processor has it.
            unsafe { std::arch::x86_64::_mm_mfence() };
            while WANTS[other].load(Acquire) && TURN.load(Acquire) == other {
                std::hint::spin_loop();
            }
            let counted = COUNTED.load(Relaxed);
            COUNTED.store(counted + 1, Relaxed);
            WANTS[me].store(false, Release);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| count(0));
        scope.spawn(|| count(1));
    });
    assert_eq!(COUNTED.load(Relaxed), 4000);
}
