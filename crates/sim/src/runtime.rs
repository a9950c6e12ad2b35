// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long threads have run, and what the scheduler makes of it.
use alloc::vec::Vec;
use corefold_model::{Machine, TICKS_PER_CYCLE, Ticks, ticks};

/// The scheduler's parameters.
#[derive(Clone, Copy)]
pub(crate) struct Fair {
    pub(crate) timeslice: Ticks,
    pub(crate) wake_granularity: i64,
    pub(crate) sleeper_credit: i64,
}

impl Fair {
    pub(crate) fn new(machine: &Machine) -> Fair {
        let system = &machine.system;
        Fair {
            timeslice: system.timeslice * TICKS_PER_CYCLE,
            wake_granularity: ticks(system.wake_granularity) as i64,
            sleeper_credit: ticks(system.sleeper_credit) as i64,
        }
    }
}

/// A thread: its time on CPUs, and which of them it may have.
#[derive(Clone, Default)]
pub struct Runtime {
    /// CPUs that it may run on, a bit each; empty: all.
    pub affinity: Vec<u64>,
    /// Until it last left one.
    pub(crate) ran: Ticks,
    /// When it came to the CPU that it is on.
    pub(crate) since: Option<Ticks>,
    /// The CPU whose run queue it was in last; none: it has not been placed yet.
    pub(crate) cpu: Option<usize>,
    /// What is added to the time that it ran, which is then comparable with the others of that CPU.
    pub(crate) shift: i64,
}

impl Runtime {
    /// Of a new thread, that may run on these.
    pub fn new(affinity: Vec<u64>) -> Runtime {
        Runtime { affinity, ..Runtime::default() }
    }

    /// Of the thread that runs when the program starts.
    pub fn first(cpu: usize) -> Runtime {
        Runtime { since: Some(0), cpu: Some(cpu), ..Runtime::default() }
    }

    pub fn may_run_on(&self, cpu: usize) -> bool {
        self.affinity.is_empty() || self.affinity.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 != 0)
    }

    /// It runs from `clock` on. Is that the first time?
    pub fn begin(&mut self, clock: Ticks) -> bool {
        self.since = Some(clock);
        self.ran == 0
    }

    /// It has left its CPU.
    pub fn end(&mut self, clock: Ticks) {
        self.ran = self.until(clock);
        self.since = None;
    }

    /// Ticks that it has been on a CPU, at `clock`.
    pub fn until(&self, clock: Ticks) -> Ticks {
        self.ran + self.since.map_or(0, |since| clock.saturating_sub(since))
    }

    pub(crate) fn vruntime(&self, clock: Ticks) -> i64 {
        self.until(clock) as i64 + self.shift
    }
}
