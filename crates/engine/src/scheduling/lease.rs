// SPDX-License-Identifier: MIT OR Apache-2.0
//! Until when the running fiber goes on without an event: when its next slow path is due.
use crate::engine::sim;
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::state::scheduler::SCHED;

/// Recomputes when the running fiber's next slow path is due.
pub fn set_limit() {
    let urgent = SCHED.signalled.get() != 0 && current().signals.is_due();
    sim(|sim| sim.set_limit(hot(), urgent));
    watch();
}

/// Where the running thread's spin is looked into, each block is an event.
#[inline]
fn watch() {
    if current().spins.with(|spins| spins.watches()) {
        hot().end();
    }
}

/// A sample was taken: the next one may be due before anything else.
pub fn sampled() {
    sim(|sim| sim.sampled(hot()));
    watch();
}
