// SPDX-License-Identifier: MIT OR Apache-2.0
//! One value is published by a strong and by a weak pointer; both are read while both are replaced.
use arc_swap::{ArcSwap, ArcSwapWeak};
use std::sync::{Arc, Weak};

fn main() {
    let first = Arc::new(7);
    let weak = ArcSwapWeak::new(Arc::downgrade(&first));
    let strong = ArcSwap::new(first);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..8 {
                let guard = weak.load();
                assert!(guard.upgrade().is_none_or(|value| *value == 7));
            }
        });
        scope.spawn(|| {
            for _ in 0..8 {
                assert_eq!(**strong.load(), 7);
            }
        });
        for _ in 0..4 {
            let next = Arc::new(7);
            weak.store(Arc::downgrade(&next));
            strong.store(next);
        }
        weak.store(Weak::new());
    });
}
