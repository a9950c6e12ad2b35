// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals, as Linux has them: of a thread or of the process, pending, blocked, queued, delivered.
//!
//! All is the simulation's own: the carrier's real mask stays empty. A running thread takes a signal at its
//! next basic block or at the end of the call that unblocks it, as a handler must not find the runtime at
//! work; a blocked one is woken, runs the handler, and its call fails or continues. Signals from other
//! processes are taken in at a basic block, and are then signals like any other.
mod actions;
mod delivery;
mod frame;
mod masks;
mod outside;
mod sending;
mod waiting;

pub use crate::state::signals::Information;
pub use actions::{FAULTS, bit, bits, is_programs, may_come_from_outside, set_bits};
pub use delivery::{deliver, look, look_if_due};
pub use masks::{Borrowed, change as change_mask};
pub use outside::{hand_over, holds_back, take_in};
pub use sending::{Target, by_number, interrupt, send};

use crate::engine::engine;
use crate::scheduling::fiber::{current, fibers};
use crate::scheduling::lease;
use crate::state::signals::{Own, Queue};
use actions::COUNT;
use core::cell::UnsafeCell;

/// The process's part.
struct Process {
    actions: [Option<libc::sigaction>; COUNT],
    pending: Queue,
}

struct Table(UnsafeCell<Option<Process>>);
// SAFETY: only the carrier uses it, and its signal handlers do not.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(None));

fn process() -> &'static mut Process {
    // SAFETY: as above; no reference outlives a call of the program's.
    unsafe { &mut *TABLE.0.get() }.get_or_insert_with(|| Process { actions: [None; COUNT], pending: Queue::default() })
}

fn own() -> &'static mut Own {
    &mut current().signals
}

/// The running thread has to check, before it blocks and at its next basic block.
pub fn is_due() -> bool {
    own().is_due()
}

/// Does nothing interrupt the thread's waits for now?
pub fn is_deaf(fiber: usize) -> bool {
    fibers()[fiber].signals.deaf
}

/// Waits inside libc: signals that arrive meanwhile are handled afterwards.
pub fn deafly(wait: impl FnOnce()) {
    let before = core::mem::replace(&mut own().deaf, true);
    wait();
    own().deaf = before;
    lease::set_limit();
}

/// The thread has to check at its next basic block.
pub fn set_due(fiber: usize) {
    let signals = &mut fibers()[fiber].signals;
    if !signals.due {
        signals.due = true;
        engine().sched.signalled += 1;
        let (state, cpu) = (fibers()[fiber].state, fibers()[fiber].cpu);
        if state == crate::scheduling::fiber::State::Running && fiber != engine().sched.fiber {
            crate::scheduling::spin_skip::disturbed(cpu, crate::engine::now());
        }
        lease::set_limit();
    }
}

/// Computes whether the running thread has anything to check for.
fn reconsider() {
    let mine = own();
    let pending = mine.pending.set() | process().pending.set();
    let due = pending & (!mine.mask | mine.awaited) != 0 || current().cancel.is_at_once();
    if due {
        return set_due(engine().sched.fiber);
    }
    if core::mem::take(&mut mine.due) {
        engine().sched.signalled -= 1;
    }
}

/// The thread has ended: nothing is for it any more.
pub fn thread_ends() {
    let mine = own();
    mine.mask = u64::MAX;
    if core::mem::take(&mut mine.due) {
        engine().sched.signalled -= 1;
    }
    masks::others_take_over(u64::MAX);
}
