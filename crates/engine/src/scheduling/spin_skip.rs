// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spin skip: see [`corefold_sim::Sim::skip`]. Here is what the fibers' accounts have to do with it.
//!
//! A loop that counts its iterations has to be run: [`crate::scheduling::spin`] calls a loop steady only if its
//! registers and stack are the same after an iteration as before it.
use crate::counts::samples::SAMPLES;
use crate::engine::engine;
use crate::scheduling::fiber::fibers;
use crate::scheduling::lease;
use corefold_model::Ticks;

/// The CPU's skip, if any, ends at `clock`: accounts for it.
pub fn end(cpu: usize, clock: Ticks) {
    let e = engine();
    let Some(from) = e.sim.skips.since(cpu) else { return };
    let Some(skipped) = e.sim.end_skip(cpu, clock) else { return };
    // The look that comes counts the last turn.
    let last = clock.saturating_sub(from + skipped.time);
    SAMPLES.with(|samples| samples.parallelism.skip_ends(from, clock, last));
    let Some(fiber) = e.sim.cpus[cpu].thread else { return };
    let fiber = &mut fibers()[fiber];
    fiber.spins.skipped(skipped.time);
    fiber.spins.last_skip = from..clock;
    fiber.time.spin += skipped.time;
    if skipped.disturbed {
        fiber.spins.disturbed();
    }
}

/// The CPU has something else to do at `time`.
pub fn disturbed(cpu: usize, time: Ticks) {
    if engine().sim.disturb(cpu, time) {
        lease::set_limit();
        end(cpu, engine().sim.cpus[cpu].clock);
    }
}

/// The CPU begins or ends to run something at `time`, in the midst of a turn of its siblings.
pub fn sibling_changes(cpu: usize, time: Ticks) {
    if engine().sim.rouse_siblings(cpu, time) {
        lease::set_limit();
    }
}

/// Accounts are about to be made at `time`: all skips end.
pub fn end_all(time: Ticks) {
    engine().sim.rouse_all(time);
    lease::set_limit();
    for cpu in 0..engine().sim.cpus.len() {
        end(cpu, engine().sim.cpus[cpu].clock);
    }
}
