// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads come to CPUs and leave them: see `corefold_sim`'s placement. Here is what fibers and accounts have to do with it.
use crate::engine::sim;
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::fiber::State;
use crate::scheduling::lease::set_limit;
use crate::scheduling::outside;
use crate::scheduling::store_buffer;
use crate::scheduling::{perturb, spin_skip};
use crate::state::scheduler::SCHED;
use corefold_model::Ticks;
use corefold_sim::{Begun, Woken};

/// Gives the CPU, whose fiber has left it at `clock`, to the next one that waits, or leaves it idle.
pub fn go_on(cpu: usize, clock: Ticks) {
    match sim(|sim| sim.run_next(cpu, clock)) {
        Some(begun) => comes(begun),
        None => spin_skip::sibling_changes(cpu, clock),
    }
}

fn comes(begun: Begun) {
    FIBERS[begun.thread].comes_back(begun.cpu, begun.since, begun.first);
}

/// Makes a blocked (or new) fiber run, as long after `at` as a wake-up takes.
pub fn wake(fiber: usize, at: Ticks) {
    wake_after(fiber, at, sim(|sim| sim.wakes.next(fiber)));
}

/// The same after `latency`: at once on an idle CPU, its own if that is idle; else in a run queue.
pub fn wake_after(fiber: usize, at: Ticks, latency: Ticks) {
    // The woken thread sees all earlier stores of the waker, on whatever CPU and by whatever call.
    store_buffer::commit_own();
    perturb::worked();
    let latency = latency + perturb::late(fiber, at + latency);
    FIBERS[fiber].state.set(State::Ready);
    match sim(|sim| sim.wake(fiber, FIBERS[fiber].cpu.get(), at, latency)) {
        Woken::Runs(begun) => {
            comes(begun);
            spin_skip::sibling_changes(begun.cpu, begun.since);
        }
        Woken::Waits(cpu) => spin_skip::disturbed(cpu, at),
    }
    if SCHED.asleep.get() {
        outside::resume(at);
    }
    set_limit();
}
