// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run-ahead of the running CPU: see [`corefold_sim::RunAhead`].
use crate::engine::sim;
use crate::hot::hot;
use corefold_model::Ticks;
use corefold_sim::RunAhead;

/// Lends what is known of `cpu`.
#[inline]
fn of<R>(cpu: u32, work: impl FnOnce(&mut RunAhead) -> R) -> R {
    sim(|sim| work(&mut sim.cpus[cpu as usize].run_ahead))
}

/// Has the core computed something ahead?
#[inline]
pub fn is_ahead(cpu: u32) -> bool {
    of(cpu, |run_ahead| run_ahead.is_ahead())
}

/// The part of the computation since the last access that overlapped with the wait takes no time.
#[inline]
pub fn catch_up(cpu: u32) {
    of(cpu, |run_ahead| {
        if run_ahead.is_ahead() {
            hot().clock.set(run_ahead.catch_up(hot().clock.get()));
        }
    });
}

/// The same of a block, which takes `issue` to issue, and of which a chain of `waits` waits for the locked operation's result.
pub fn computed(cpu: u32, issue: Ticks, waits: Ticks) {
    of(cpu, |run_ahead| hot().clock.set(run_ahead.computed(hot().clock.get(), issue, waits)));
}

/// An access is complete: computation after it takes time again.
#[inline]
pub fn passed(cpu: u32) {
    of(cpu, |run_ahead| run_ahead.passed(hot().clock.get()));
}

/// Nothing is reordered past this place (a fence).
pub fn end(cpu: u32) {
    catch_up(cpu);
    lost(cpu);
}

/// A misprediction: the core has discarded what it executed ahead.
#[inline]
pub fn lost(cpu: u32) {
    of(cpu, RunAhead::lost);
}
