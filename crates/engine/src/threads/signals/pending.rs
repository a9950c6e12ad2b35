// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waits to be delivered, and who has to look for it.
use crate::engine::{engine, now};
use crate::scheduling::fiber::{State, current, fibers};
use crate::scheduling::{lease, spin_skip};
use crate::state::signals::{Own, Queue};
use core::cell::UnsafeCell;

pub const COUNT: usize = 65;

/// The process's part.
pub struct Process {
    pub actions: [Option<libc::sigaction>; COUNT],
    pub pending: Queue,
}

struct Table(UnsafeCell<Option<Process>>);
// SAFETY: only the carrier uses it, and its signal handlers do not.
unsafe impl Sync for Table {}
static TABLE: Table = Table(UnsafeCell::new(None));

pub fn process() -> &'static mut Process {
    // SAFETY: as above; no reference outlives a call of the program's.
    unsafe { &mut *TABLE.0.get() }.get_or_insert_with(|| Process { actions: [None; COUNT], pending: Queue::default() })
}

pub fn own() -> &'static mut Own {
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
        if state == State::Running && fiber != engine().sched.fiber {
            spin_skip::disturbed(cpu, now());
        }
        lease::set_limit();
    }
}

/// Computes whether the running thread has anything to check for.
pub fn reconsider() {
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
