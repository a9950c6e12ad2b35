// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread blocks changes.
use super::pending::{PROCESS, reconsider};
use super::sending;
use crate::engine::now;
use crate::scheduling::fiber::{FIBERS, State, current};
use crate::state::scheduler::{SCHED, running_fiber};
use crate::state::signals::bit;

/// The running thread's mask is to be another.
pub fn change(mask: u64) {
    let before = current().signals.mask.replace(mask);
    mask_changed(before);
}

/// It was `before` up to now.
pub fn mask_changed(before: u64) {
    others_take_over(current().signals.mask.get() & !before);
    reconsider();
}

/// What waits for the process and the running thread has just blocked may be others' to take.
fn others_take_over(blocked: u64) {
    let waiting = PROCESS.with(|process| process.pending.set()) & blocked;
    let signals = (1..=64).filter(|s| waiting & bit(*s) != 0);
    for signal in signals {
        let me = running_fiber();
        let takes = |f: &usize| {
            let fiber = &FIBERS[*f];
            *f != me && fiber.state.get() != State::Finished && fiber.signals.wants(signal)
        };
        if let Some(other) = (0..FIBERS.len()).find(takes) {
            sending::tell(other, now());
        }
    }
}

/// The thread has ended: nothing is for it any more.
pub fn thread_ends() {
    let mine = &current().signals;
    mine.mask.set(u64::MAX);
    if mine.due.take() {
        SCHED.signalled.update(|fibers| fibers - 1);
    }
    others_take_over(u64::MAX);
}
