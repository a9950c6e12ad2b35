// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the scheduler keeps beside the simulator.
use crate::carrier::Carrier;
use crate::stacks::Stacks;
use alloc::vec::Vec;
use core::cell::Cell;
use corefold_launch::Launch;
use corefold_model::{Ticks, ticks};

pub struct Scheduler {
    /// What varies the time of futex calls.
    pub futex_random: Cell<u64>,
    /// The running fiber.
    pub fiber: Cell<usize>,
    /// The longest time between two reads of one spin.
    pub longest_spin: Cell<Ticks>,
    /// Where loops look at a word that were found to back off by computing.
    pub back_offs: Carrier<Vec<u64>>,
    pub stacks: Carrier<Stacks>,
    /// A fiber that has ended and whose kernel thread is to be released.
    pub leaving: Cell<Option<usize>>,
    /// Detached fibers that have ended and are not reaped yet.
    pub detached: Carrier<Vec<usize>>,
    /// Fibers that have pending signals.
    pub signalled: Cell<usize>,
    /// Timers of the program wait for a thread to run.
    pub asleep: Cell<bool>,
}

// SAFETY: only the carrier uses it; all other threads are parked or not simulated.
unsafe impl Sync for Scheduler {}

pub static SCHED: Scheduler = Scheduler {
    futex_random: Cell::new(0),
    fiber: Cell::new(0),
    longest_spin: Cell::new(0),
    back_offs: Carrier::new(Vec::new()),
    stacks: Carrier::new(Stacks::NONE),
    leaving: Cell::new(None),
    detached: Carrier::new(Vec::new()),
    signalled: Cell::new(0),
    asleep: Cell::new(false),
};

/// The run begins.
pub fn begin(launch: &Launch) {
    SCHED.longest_spin.set(ticks(4 * launch.machine.core.pause + 200));
}

/// The running fiber.
#[inline]
pub fn running_fiber() -> usize {
    SCHED.fiber.get()
}
