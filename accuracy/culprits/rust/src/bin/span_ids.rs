// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each span takes its number from one static counter, in sequentially consistent order.
//! The twin: each thread takes a thousand numbers at a time.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

static NEXT_SPAN: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static NUMBERS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn span_id() -> u64 {
    if !TWIN {
        return NEXT_SPAN.fetch_add(1, SeqCst);
    }
    NUMBERS.with(|numbers| {
        let (mut next, mut end) = numbers.get();
        if next == end {
            next = NEXT_SPAN.fetch_add(1000, SeqCst);
            end = next + 1000;
        }
        numbers.set((next + 1, end));
        next
    })
}

fn main() {
    let (threads, operations) = arguments();
    let spans =
        on_threads(threads, operations, |_, share| (0..share).map(|_| u64::from(work(span_id(), 40) != 0)).sum());
    check("spans", spans, operations);
}
