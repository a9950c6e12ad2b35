// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spin skip: see [`corefold_sim::Sim::skip`]. Here is what the fibers' accounts have to do with it.
//!
//! A loop that counts its iterations has to be run: [`crate::hooks::spin`] calls a loop steady only if its
//! registers and stack are the same after an iteration as before it.
use crate::account::sample;
use crate::calls::clock::ticks_of;
use crate::calls::signals;
use crate::engine::engine;
use crate::hot::hot;
use crate::scheduling::fiber::{current, fibers};
use crate::scheduling::neutral_stack::ProgramMemory;
use crate::scheduling::{perturb, sched};
use corefold_model::Ticks;
use corefold_sim::Spin;

/// The first skip of a spin; each that follows is twice as long, up to [`DOUBLINGS`]. A write that no access shows
/// (by a system call, or through another mapping) may be seen that late.
const FIRST_NS: u64 = 5_000;
const DOUBLINGS: u32 = 5;

/// The running fiber has just repeated its read: it begins to skip, if no store to the lines it watches is pending.
/// Returns whether it did; then it has to read again.
pub fn skip() -> bool {
    let e = engine();
    // With signals pending, it continues to where a handler may run.
    if e.sched.signalled != 0 && signals::is_due() {
        return false;
    }
    let cpu = e.sim.cpu;
    let spins = &fibers()[e.sched.fiber].spins;
    let spin = Spin { period: spins.period(), lines: spins.lines(), read: spins.read() };
    let longest = ticks_of(FIRST_NS << spins.skips().min(DOUBLINGS));
    if !e.sim.skip(hot!(), &mut ProgramMemory, spin, longest) {
        return false;
    }
    sched::sync();
    end(cpu, hot!().clock);
    let place = current().spins.place();
    sample::take_due(place, sample::What::Stall);
    sched::set_limit();
    perturb::look_around(place);
    true
}

/// The CPU's skip, if any, ends at `clock`: accounts for it.
fn end(cpu: usize, clock: Ticks) {
    let e = engine();
    let Some(skipped) = e.sim.end_skip(cpu, clock) else { return };
    let Some(fiber) = e.sim.cpus[cpu].thread else { return };
    let fiber = &mut fibers()[fiber];
    fiber.spins.skipped(skipped.time);
    fiber.time.spin += skipped.time;
    if skipped.disturbed {
        fiber.spins.disturbed();
    }
}

/// The CPU has something else to do at `time`.
pub fn disturbed(cpu: usize, time: Ticks) {
    if engine().sim.disturb(cpu, time) {
        sched::set_limit();
        end(cpu, engine().sim.cpus[cpu].clock);
    }
}

/// The CPU begins or ends to run something at `time`, in the midst of a turn of its siblings.
pub fn sibling_changes(cpu: usize, time: Ticks) {
    if engine().sim.rouse_siblings(cpu, time) {
        sched::set_limit();
    }
}

/// Accounts are about to be made at `time`: all skips end.
pub fn end_all(time: Ticks) {
    engine().sim.rouse_all(time);
    sched::set_limit();
    for cpu in 0..engine().sim.cpus.len() {
        end(cpu, engine().sim.cpus[cpu].clock);
    }
}
