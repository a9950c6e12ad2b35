// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many threads are on CPUs: see [`corefold_sim::Parallelism`].
use crate::engine::sim;
use corefold_model::Ticks;
use corefold_sim::{Cpu, Sim};

/// Threads that run at `clock`, but for those that have skipped their spins since before `begin`.
pub fn on_cpus(clock: Ticks, begin: Ticks) -> u64 {
    // One that has been woken has its CPU already, and begins later.
    let runs = |sim: &Sim, number: usize, cpu: &Cpu| {
        let skips = || sim.skips.since(number).is_some_and(|since| since < begin);
        cpu.thread.is_some() && cpu.busy_from <= clock && !skips()
    };
    sim(|sim| sim.cpus.iter().enumerate().filter(|(number, cpu)| runs(sim, *number, cpu)).count() as u64)
}
