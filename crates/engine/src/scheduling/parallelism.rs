// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads are at work at a time: on a CPU, and in no loop that only another thread's store can end. (Linux's
//! `perf` has the word, and counts those that spin.) Other loops may yet prove not to spin.
use crate::engine::engine;
use crate::scheduling::fiber::{Fiber, fibers};
use corefold_model::Ticks;
use corefold_sim::Cpu;

/// As last counted.
pub struct Parallelism {
    counted_at: Ticks,
    threads: u64,
}

impl Parallelism {
    pub const UNKNOWN: Parallelism = Parallelism { counted_at: 0, threads: 0 };

    /// Threads at work at `clock` or up to `within` before: all CPUs are asked, so a machine with many is not to be asked at
    /// each sample.
    pub fn at(&mut self, clock: Ticks, within: Ticks) -> u64 {
        if self.threads == 0 || clock.abs_diff(self.counted_at) > within {
            *self = Parallelism { counted_at: clock, threads: count(clock).max(1) };
        }
        self.threads
    }
}

fn count(clock: Ticks) -> u64 {
    let sim = &engine().sim;
    // One that has been woken has its CPU already, and begins later.
    let works = |fiber: &Fiber| fiber.began_on_cpu() <= clock && !fiber.spins.goes_on();
    let at_work = |(number, cpu): &(usize, &Cpu)| {
        cpu.thread.is_some_and(|thread| sim.skips.since(*number).is_none() && works(&fibers()[thread]))
    };
    sim.cpus.iter().enumerate().filter(at_work).count() as u64
}
