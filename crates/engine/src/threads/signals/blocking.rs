// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread blocks changes.
use super::pending::{PROCESS, reconsider};
use super::sending;
use crate::engine::now;
use crate::scheduling::fiber::{State, current, fibers};
use crate::state::scheduler::{SCHED, running_fiber};
use crate::state::signals::bit;

/// The running thread's mask is to be another.
pub fn change(mask: u64) {
    let before = core::mem::replace(&mut current().signals.mask, mask);
    mask_changed(before);
}

/// It was `before` up to now.
pub fn mask_changed(before: u64) {
    others_take_over(current().signals.mask & !before);
    reconsider();
}

/// What waits for the process and the running thread has just blocked may be others' to take.
fn others_take_over(blocked: u64) {
    let waiting = PROCESS.with(|process| process.pending.set()) & blocked;
    let signals = (1..=64).filter(|s| waiting & bit(*s) != 0);
    for signal in signals {
        let me = running_fiber();
        let takes = |f: &usize| {
            let fiber = &fibers()[*f];
            *f != me && fiber.state != State::Finished && fiber.signals.wants(signal)
        };
        if let Some(other) = (0..fibers().len()).find(takes) {
            sending::tell(other, now());
        }
    }
}

/// The thread has ended: nothing is for it any more.
pub fn thread_ends() {
    let mine = &mut current().signals;
    mine.mask = u64::MAX;
    if core::mem::take(&mut mine.due) {
        SCHED.signalled.update(|fibers| fibers - 1);
    }
    others_take_over(u64::MAX);
}
