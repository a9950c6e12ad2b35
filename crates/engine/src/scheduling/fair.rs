// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual runtime: how far a thread is behind the others of its CPU, which decides whether it preempts when it wakes.
//!
//! Linux's scheduler until 6.5 (CFS) counts each thread's time on a CPU. A woken thread preempts if the running one has
//! had more by the wake-up granularity. It keeps what it is behind until it has run for as long, however often it
//! sleeps meanwhile; but it cannot be behind by more than a sleeper's credit, and a new thread begins a slice ahead.
//! (CFS looks again at each timer tick, but preempts there only after a slice, which ends the turn here anyway.)
use crate::engine::engine;
use corefold_model::{TICKS_PER_CYCLE, Ticks, ticks};

/// What is added to the time that a thread ran, which is then comparable with the others of one CPU.
#[derive(Clone, Copy, Default)]
pub struct Share {
    /// The CPU; none: it has not been placed yet.
    cpu: Option<usize>,
    shift: i64,
}

impl Share {
    /// Of the thread that runs when the program starts.
    pub fn first(cpu: usize) -> Share {
        Share { cpu: Some(cpu), shift: 0 }
    }
}

pub fn timeslice() -> Ticks {
    engine().launch.machine.system.timeslice * TICKS_PER_CYCLE
}

/// The fiber's virtual runtime.
fn vruntime(fiber: usize, clock: Ticks) -> i64 {
    let fiber = &engine().fibers[fiber];
    fiber.ran_until(clock) as i64 + fiber.share.shift
}

/// Raises the CPU's smallest virtual runtime to that of its running fiber or the first that is queued. It never falls.
pub fn advance(cpu: usize, clock: Ticks) {
    let slot = &mut engine().sim.cpus[cpu];
    let first = slot.thread.into_iter().chain(slot.ready.front().copied()).map(|fiber| vruntime(fiber, clock)).min();
    slot.least_vruntime = slot.least_vruntime.max(first.unwrap_or(i64::MIN));
}

/// The fiber, which does not run, comes to the CPU or wakes on it.
pub fn join(fiber: usize, cpu: usize) {
    let e = engine();
    let here = e.sim.cpus[cpu].least_vruntime;
    let ran = e.fibers[fiber].ran_until(0) as i64;
    let share = &mut e.fibers[fiber].share;
    let vruntime = match share.cpu {
        Some(there) => ran + share.shift - e.sim.cpus[there].least_vruntime + here,
        None => here + timeslice() as i64,
    };
    let credit = ticks(e.launch.machine.system.sleeper_credit) as i64;
    *share = Share { cpu: Some(cpu), shift: vruntime.max(here - credit) - ran };
}

/// Is the fiber so far behind the one that runs on the CPU that it preempts it?
pub fn preempts(fiber: usize, cpu: usize, clock: Ticks) -> bool {
    let e = engine();
    let granularity = ticks(e.launch.machine.system.wake_granularity) as i64;
    e.sim.cpus[cpu].thread.is_some_and(|running| vruntime(running, clock) - vruntime(fiber, clock) > granularity)
}

/// Has the running fiber had no more than the first that is queued? Then it goes on for another slice.
pub fn is_least(cpu: usize, clock: Ticks) -> bool {
    let slot = &engine().sim.cpus[cpu];
    let first = slot.ready.front().map(|fiber| vruntime(*fiber, clock));
    slot.thread.zip(first).is_some_and(|(running, first)| vruntime(running, clock) <= first)
}

/// Puts the fiber into the CPU's run queue, `after` the first so many and behind those that have run less.
pub fn queue(fiber: usize, cpu: usize, after: usize) {
    let own = vruntime(fiber, 0);
    let ready = &mut engine().sim.cpus[cpu].ready;
    let place = ready.partition_point(|other| vruntime(*other, 0) <= own);
    ready.insert(place.max(after).min(ready.len()), fiber);
}
