// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals are sent: to a thread, or to the process, of whose threads one takes it.
use super::actions::is_ignored;
use super::pending::{PROCESS, is_deaf, set_due};
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::fiber::{State, Woken};
use crate::scheduling::placing;
use crate::state::signals::{Information, Target, bit};
use core::ffi::c_int;
use corefold_model::Ticks;

/// The signal is sent at `time`: noted, and a thread that takes it is told. False: it comes to
/// nothing, as it is ignored or waits already.
pub fn send(target: Target, information: Information, time: Ticks) -> bool {
    let signal = information.signal;
    if is_lost(target, signal) {
        return false;
    }
    let added = match target {
        Target::Thread(fiber) => FIBERS[fiber].signals.pending.with(|pending| pending.add(information)),
        Target::Process => PROCESS.with(|process| process.pending.add(information)),
    };
    if added && let Some(fiber) = taker(target, signal) {
        tell(fiber, time);
    }
    added
}

/// A signal that is ignored is kept only where it is blocked: who asks for it by `sigwait` shall have it.
fn is_lost(target: Target, signal: c_int) -> bool {
    let keeps = |fiber: usize| {
        let signals = &FIBERS[fiber].signals;
        (signals.mask.get() | signals.awaited.get()) & bit(signal) != 0
    };
    let kept = match target {
        Target::Thread(fiber) => keeps(fiber),
        Target::Process => (0..FIBERS.len()).any(|f| f == 0 && keeps(f) || is_awaiting(f, signal)),
    };
    is_ignored(signal) && !kept
}

pub fn is_awaiting(fiber: usize, signal: c_int) -> bool {
    FIBERS[fiber].signals.awaited.get() & bit(signal) != 0
}

/// Who takes it: of the process's threads the first, if it can, as on Linux.
pub fn taker(target: Target, signal: c_int) -> Option<usize> {
    let takes = |fiber: &usize| {
        let fiber = &FIBERS[*fiber];
        fiber.state.get() != State::Finished && fiber.signals.wants(signal)
    };
    let is_free = |fiber: &usize| {
        let fiber = &FIBERS[*fiber];
        fiber.state.get() == State::Running || !fiber.signals.due.get()
    };
    match target {
        Target::Thread(fiber) => Some(fiber).filter(takes),
        Target::Process => (0..FIBERS.len()).find(|f| takes(f) && is_free(f)),
    }
}

/// The thread looks at its next basic block, or wakes to look.
pub fn tell(fiber: usize, time: Ticks) {
    set_due(fiber);
    if FIBERS[fiber].state.get() == State::Blocked && !is_deaf(fiber) {
        interrupt(fiber, time);
    }
}

/// Ends the blocked thread's wait.
pub fn interrupt(fiber: usize, time: Ticks) {
    crate::scheduling::fiber::forget_wait(fiber);
    FIBERS[fiber].woken.set(Woken::Signal);
    placing::wake(fiber, time);
}
