// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of lines of memory.
use crate::bytes::fill;
use crate::engine::sim;
use crate::layout::{SHADOW, SHADOW_SHIFT};
use crate::sys;

const PAGE: u64 = 4096;

/// Forgets what was known of lines whose memory is gone, and in which socket's it lay.
pub fn forget_lines(begin: u64, bytes: u64) {
    sim(|sim| sim.model.forget_pages(begin, bytes));
    let (first, last) = (begin >> SHADOW_SHIFT, (begin + bytes) >> SHADOW_SHIFT);
    let (from, to) = (SHADOW + first * 4, SHADOW + last * 4);
    let (page_from, page_to) = (from.next_multiple_of(PAGE), to / PAGE * PAGE);
    if page_from >= page_to {
        fill(from, 0, to - from);
        return;
    }
    fill(from, 0, page_from - from);
    sys::drop_pages(page_from, page_to - page_from);
    fill(page_to, 0, to - page_to);
}
