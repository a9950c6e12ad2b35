// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first initialiser fails while others wait for it.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn main() {
    let (value, tries) = (spin::Once::<u64>::new(), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let init = || match tries.fetch_add(1, Relaxed) {
                    0 => Err(()),
                    _ => Ok(0x5a5a_5a5a),
                };
                if let Ok(value) = value.try_call_once(init) {
                    assert_eq!(*value, 0x5a5a_5a5a);
                }
            });
        }
    });
    assert_ne!(tries.into_inner(), 0);
}
