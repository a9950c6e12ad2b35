// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads are on CPUs: see [`corefold_sim::Parallelism`].
use crate::engine::sim;
use crate::scheduling::fiber::{FIBERS, Fiber};
use corefold_model::Ticks;
use corefold_sim::Cpu;

/// Threads that run at `clock`, but for those that have skipped their spins since before `begin`.
pub fn on_cpus(clock: Ticks, begin: Ticks) -> u64 {
    // One that has been woken has its CPU already, and begins later.
    let begun = |fiber: &Fiber| fiber.began_on_cpu() <= clock;
    sim(|sim| {
        let skips = |number: usize| sim.skips.since(number).is_some_and(|since| since < begin);
        let runs =
            |(number, cpu): &(usize, &Cpu)| cpu.thread.is_some_and(|thread| !skips(*number) && begun(&FIBERS[thread]));
        sim.cpus.iter().enumerate().filter(runs).count() as u64
    })
}
