// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spin skip: see [`corefold_sim::Sim::skip`]. Here is what the fibers' accounts have to do with it.
//!
//! A loop that counts its iterations has to be run: [`crate::scheduling::spin`] calls a loop steady only if its
//! registers and stack are the same after an iteration as before it.
use crate::counts::samples::SAMPLES;
use crate::engine::{launch, sim};
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::lease;
use corefold_model::Ticks;
use corefold_recording::Time;

/// The CPU's skip, if any, ends at `clock`: accounts for it.
pub fn end(cpu: usize, clock: Ticks) {
    let ended = sim(|sim| {
        let from = sim.skips.since(cpu)?;
        Some((from, sim.end_skip(cpu, clock)?, sim.cpus[cpu].thread))
    });
    let Some((from, skipped, thread)) = ended else { return };
    // The look that comes counts the last turn.
    let last = clock.saturating_sub(from + skipped.time);
    SAMPLES.with(|samples| samples.parallelism.skip_ends(from, clock, last));
    let Some(fiber) = thread else { return };
    let fiber = &FIBERS[fiber];
    fiber.spins.with(|spins| {
        spins.skipped(skipped.time);
        spins.last_skip = from..clock;
    });
    fiber.time.update(|time| Time { spin: time.spin + skipped.time, ..time });
    if skipped.disturbed {
        fiber.spins.with(|spins| spins.disturbed());
    }
}

/// The CPU has something else to do at `time`.
pub fn disturbed(cpu: usize, time: Ticks) {
    if sim(|sim| sim.disturb(cpu, time)) {
        lease::set_limit();
    }
}

/// The CPU begins or ends to run something at `time`, in the midst of a turn of its siblings.
pub fn sibling_changes(cpu: usize, time: Ticks) {
    if sim(|sim| sim.rouse_siblings(cpu, time)) {
        lease::set_limit();
    }
}

/// Accounts are about to be made at `time`: all skips end.
pub fn end_all(time: Ticks) {
    sim(|sim| sim.rouse_all(time));
    lease::set_limit();
    for cpu in 0..launch().cpus as usize {
        end(cpu, sim(|sim| sim.cpus[cpu].clock));
    }
}
