// SPDX-License-Identifier: MIT OR Apache-2.0
//! A global allocator that keeps how much is allocated and the most that ever was, by `fetch_add` and `fetch_max`.
//! The twin: the system's allocator, without statistics.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Peak {
    allocated: AtomicUsize,
    peak: AtomicUsize,
}

// SAFETY: the system's allocator does all, as it is asked.
unsafe impl GlobalAlloc for Peak {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !TWIN {
            let before = self.allocated.fetch_add(layout.size(), Relaxed);
            self.peak.fetch_max(before + layout.size(), Relaxed);
        }
        // SAFETY: the caller keeps to what `alloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` is of `alloc` above, with this layout, as the caller ensures.
        unsafe { System.dealloc(memory, layout) };
        if !TWIN {
            self.allocated.fetch_sub(layout.size(), Relaxed);
        }
    }
}

#[global_allocator]
static MEMORY: Peak = Peak { allocated: AtomicUsize::new(0), peak: AtomicUsize::new(0) };

#[inline(never)]
fn parse(message: u64) -> u64 {
    let words = black_box(vec![message; 8]);
    work(words[7], 40) | 1
}

fn main() {
    let (threads, operations) = arguments();
    let parsed = on_threads(threads, operations, |_, share| (0..share).map(|m| parse(m as u64) & 1).sum());
    check("messages", parsed, operations);
    assert!(TWIN || MEMORY.peak.load(Relaxed) >= 64, "the peak");
}
