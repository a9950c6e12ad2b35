// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the scheduler has others do who know of it: they are told by [`set`] when the run begins.
use core::cell::Cell;
use corefold_model::Ticks;

pub struct Outside {
    /// A timer of the program's has come due, at that time.
    pub fire: fn(timer: usize, time: Ticks),
    /// A thread runs again, at that time, while timers of the program wait for one.
    pub resume: fn(time: Ticks),
    /// Nothing in the program can run: waits for outside input, if a thread waits for some. Returns whether one does.
    pub wait_for_input: fn() -> bool,
}

struct Slot(Cell<Option<&'static Outside>>);
// SAFETY: set while the process has one thread; only the carrier uses it.
unsafe impl Sync for Slot {}
static OUTSIDE: Slot = Slot(Cell::new(None));

pub fn set(outside: &'static Outside) {
    OUTSIDE.0.set(Some(outside));
}

pub fn fire(timer: usize, time: Ticks) {
    if let Some(outside) = OUTSIDE.0.get() {
        (outside.fire)(timer, time);
    }
}

pub fn resume(time: Ticks) {
    if let Some(outside) = OUTSIDE.0.get() {
        (outside.resume)(time);
    }
}

pub fn wait_for_input() -> bool {
    OUTSIDE.0.get().is_some_and(|outside| (outside.wait_for_input)())
}
