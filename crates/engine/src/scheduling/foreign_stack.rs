// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stacks that a thread has switched to by itself.
use crate::engine::note;
use crate::layout::{STACKS, STACKS_BYTES};
use crate::scheduling::fiber::current;
use core::sync::atomic::{AtomicBool, Ordering};

/// The program has made contexts: their stacks are known.
pub static CONTEXTS: AtomicBool = AtomicBool::new(false);

/// Says so if the running thread is on a stack that it has got to by itself.
#[inline]
pub fn notice() {
    let here = core::hint::black_box(0u8);
    let here = &raw const here as u64;
    if here.wrapping_sub(STACKS) >= STACKS_BYTES {
        notice_other_stack(here);
    }
}

#[cold]
fn notice_other_stack(here: u64) {
    let me = current();
    let given = me.thread.stack.get();
    let is_given = here.wrapping_sub(given.begin) < given.bytes;
    if !is_given && !CONTEXTS.load(Ordering::Relaxed) && !me.signals.has_stack_at(here) {
        note("a thread switches stacks with its own instructions: its call stacks may be wrong", me.blocked_at.get());
    }
}
