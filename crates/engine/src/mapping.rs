//! The program's mappings.
use crate::layout::{SHADOW, SHADOW_SHIFT};
use crate::sys;

/// Forgets what was known of lines whose memory is gone.
pub fn forget_lines(begin: u64, bytes: u64) {
    let (first, last) = (begin >> SHADOW_SHIFT, (begin + bytes) >> SHADOW_SHIFT);
    let (from, to) = (SHADOW + first * 4, SHADOW + last * 4);
    let (page_from, page_to) = (from.next_multiple_of(4096), to / 4096 * 4096);
    if page_from >= page_to {
        crate::string::fill(from, 0, to - from);
        return;
    }
    crate::string::fill(from, 0, page_from - from);
    sys::drop_pages(page_from, page_to - page_from);
    crate::string::fill(page_to, 0, to - page_to);
}
