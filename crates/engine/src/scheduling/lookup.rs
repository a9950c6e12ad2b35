// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which simulated thread is meant: by its `pthread_t`, or by an address on its stack.
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::fiber::State;
use crate::stacks::{self, STACK};
use crate::state::pthread::Stack;

/// The fiber behind a pthread_t; the youngest, as a joined thread's may be used again.
pub fn find(thread: libc::pthread_t) -> Option<usize> {
    FIBERS.iter().rposition(|f| f.real.get() == thread && !f.thread.joined.get())
}

/// The thread whose stack the address is on.
pub fn on_stack(address: u64) -> Option<usize> {
    let slot = stacks::slot_of(address) as usize;
    FIBERS.iter().rposition(|f| f.thread.slot.get() == slot && f.state.get() != State::Finished)
}

/// The main thread's stack.
pub fn main_stack() -> Stack {
    let slot = FIBERS[0].thread.slot.get();
    Stack { begin: stacks::main_begin(slot), bytes: STACK, ..Stack::default() }
}
