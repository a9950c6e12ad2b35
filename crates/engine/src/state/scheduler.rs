// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the scheduler keeps beside the simulator.
use crate::stacks::Stacks;
use alloc::vec::Vec;
use corefold_launch::Launch;
use corefold_model::{Ticks, ticks};

pub struct Scheduler {
    /// What varies the time of futex calls.
    pub futex_random: u64,
    /// The running fiber.
    pub fiber: usize,
    /// The longest time between two reads of one spin.
    pub longest_spin: Ticks,
    pub stacks: Stacks,
    /// A fiber that has ended and whose kernel thread is to be released.
    pub leaving: Option<usize>,
    /// Detached fibers that have ended and are not reaped yet.
    pub detached: Vec<usize>,
    /// Fibers that have pending signals.
    pub signalled: usize,
    /// Timers of the program wait for a thread to run.
    pub asleep: bool,
}

impl Scheduler {
    pub fn new(launch: &Launch) -> Self {
        Scheduler {
            futex_random: 0,
            fiber: 0,
            longest_spin: ticks(4 * launch.machine.core.pause + 200),
            stacks: Stacks::default(),
            leaving: None,
            detached: Vec::new(),
            signalled: 0,
            asleep: false,
        }
    }
}
