// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the scheduler and the hooks have the stand-ins do, which know of it: a table that is set when the run begins. None of
//! it is done at a rate that an indirect call would matter for.
use crate::carrier::AtStart;
use crate::scheduling::fiber::current;
use crate::state::scheduler::SCHED;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};
use corefold_model::Ticks;

pub struct Outside {
    /// A timer of the program's has come due, at that time.
    pub fire: fn(timer: usize, time: Ticks),
    /// A thread runs again, at that time, while timers of the program wait for one.
    pub resume: fn(time: Ticks),
    /// Nothing in the program can run: waits for outside input, if a thread waits for some. Returns whether one does.
    pub wait_for_input: fn() -> bool,
    /// Threads wait for descriptors: wakes those whose are ready.
    pub look_at_input: fn(),
    /// Signals have come from other processes.
    pub take_signals: fn() -> bool,
    /// The running thread is where a handler may run, or the thread end.
    pub look: fn(pc: u64),
    /// A signal that ends the program is recorded first.
    pub take_over: fn(signal: c_int),
}

static OUTSIDE: AtStart<&Outside> = AtStart::unset();
/// A thread waits for a descriptor.
static WAITS: AtomicBool = AtomicBool::new(false);

pub fn set(outside: &'static Outside) {
    OUTSIDE.set(outside);
}

fn outside() -> &'static Outside {
    match OUTSIDE.get() {
        Some(outside) => outside,
        None => crate::sys::engine_fault("the stand-ins were called before the run began"),
    }
}

pub fn fire(timer: usize, time: Ticks) {
    (outside().fire)(timer, time);
}

pub fn resume(time: Ticks) {
    (outside().resume)(time);
}

pub fn wait_for_input() -> bool {
    (outside().wait_for_input)()
}

/// Does a thread wait for a descriptor from now on?
pub fn set_waits(waits: bool) {
    WAITS.store(waits, Ordering::Relaxed);
}

/// Looks at descriptors that threads wait for, if there are any.
#[inline]
pub fn look_at_input() {
    if WAITS.load(Ordering::Relaxed) {
        (outside().look_at_input)();
    }
}

/// Takes in what came from other processes.
#[inline]
pub fn take_signals() {
    if crate::state::signals::CAME.load(Ordering::Relaxed) != 0 {
        (outside().take_signals)();
    }
}

pub fn look(pc: u64) {
    (outside().look)(pc);
}

pub fn take_over(signal: c_int) {
    (outside().take_over)(signal);
}

/// The same, if the thread has anything to look for.
#[inline]
pub fn look_if_due(pc: u64) {
    if SCHED.signalled.get() != 0 && current().signals.is_due() {
        look(pc);
    }
}
