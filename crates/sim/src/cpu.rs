// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulated CPU.
use crate::place::Place;
use crate::{Lease, RunAhead};
use alloc::collections::VecDeque;
use corefold_model::Ticks;

pub struct Cpu {
    /// The next CPU of its core, in a ring; itself, if it has the core alone.
    pub(crate) beside: usize,
    pub(crate) place: Place,
    /// Valid while the CPU is not the running one.
    pub clock: Ticks,
    /// The thread that it runs.
    pub thread: Option<usize>,
    /// Threads that wait for it.
    pub ready: VecDeque<usize>,
    /// From when on it has something to run, or had. Without a thread, it had until `clock`.
    pub busy_from: Ticks,
    /// Until when it had something to run before that: other CPUs may be behind both.
    pub busy_until: Ticks,
    pub next_sample: Ticks,
    /// Until when its cycles are counted for the predictor's checks.
    pub counted: Ticks,
    pub slice_end: Ticks,
    /// The least virtual runtime of its threads, which never falls.
    pub least_vruntime: i64,
    /// When a woken thread preempts the running one, if ever.
    pub preempted_at: Ticks,
    pub run_ahead: RunAhead,
    /// What the lease's tags are while it runs.
    pub(crate) tags: (u32, u32),
}

impl Cpu {
    pub(crate) fn new(number: u32, beside: usize, place: Place, every_access: bool) -> Cpu {
        Cpu {
            beside,
            place,
            clock: 0,
            thread: None,
            ready: VecDeque::new(),
            busy_from: 0,
            busy_until: 0,
            next_sample: 0,
            counted: 0,
            slice_end: 0,
            least_vruntime: 0,
            preempted_at: Ticks::MAX,
            run_ahead: RunAhead::default(),
            tags: Lease::tags(number, every_access),
        }
    }

    /// When the running thread's time slice ends, if another waits for the CPU.
    pub fn turn_ends(&self) -> Ticks {
        if self.ready.is_empty() { Ticks::MAX } else { self.slice_end.min(self.preempted_at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn a_turn_ends_only_where_another_thread_waits() {
        let mut cpu = Cpu::new(0, 0, Place::of(&machine(), 0), false);
        (cpu.slice_end, cpu.preempted_at) = (100, 70);
        assert_eq!(cpu.turn_ends(), Ticks::MAX);
        cpu.ready.push_back(1);
        assert_eq!(cpu.turn_ends(), 70, "it is preempted before its slice ends");
        cpu.preempted_at = Ticks::MAX;
        assert_eq!(cpu.turn_ends(), 100);
    }
}
