// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waits to be delivered, and who has to look for it.
use crate::carrier::Carrier;
use crate::engine::now;
use crate::scheduling::fiber::{FIBERS, State, current};
use crate::scheduling::{lease, spin_skip};
use crate::state::scheduler::{SCHED, running_fiber};
use crate::state::signals::Queue;

pub const COUNT: usize = 65;

/// The process's part.
pub struct Process {
    pub actions: [Option<libc::sigaction>; COUNT],
    pub pending: Queue,
}

pub static PROCESS: Carrier<Process> = Carrier::new(Process { actions: [None; COUNT], pending: Queue::EMPTY });

/// The running thread has to check, before it blocks and at its next basic block.
pub fn is_due() -> bool {
    current().signals.is_due()
}

/// Does nothing interrupt the thread's waits for now?
pub fn is_deaf(fiber: usize) -> bool {
    FIBERS[fiber].signals.deaf.get()
}

/// Waits inside libc: signals that arrive meanwhile are handled afterwards.
pub fn deafly(wait: impl FnOnce()) {
    let before = current().signals.deaf.replace(true);
    wait();
    current().signals.deaf.set(before);
    lease::set_limit();
}

/// The thread has to check at its next basic block.
pub fn set_due(fiber: usize) {
    let signals = &FIBERS[fiber].signals;
    if !signals.due.replace(true) {
        SCHED.signalled.update(|fibers| fibers + 1);
        let (state, cpu) = (FIBERS[fiber].state.get(), FIBERS[fiber].cpu.get());
        if state == State::Running && fiber != running_fiber() {
            spin_skip::disturbed(cpu, now());
        }
        lease::set_limit();
    }
}

/// Computes whether the running thread has anything to check for.
pub fn reconsider() {
    let mine = &current().signals;
    let pending = mine.pending.with(|pending| pending.set()) | PROCESS.with(|process| process.pending.set());
    let due = pending & (!mine.mask.get() | mine.awaited.get()) != 0 || current().cancel.is_at_once();
    if due {
        return set_due(running_fiber());
    }
    if mine.due.take() {
        SCHED.signalled.update(|fibers| fibers - 1);
    }
}
