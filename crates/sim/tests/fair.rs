// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that share a CPU: who preempts, who is queued where, by their virtual runtimes.
mod common;

use common::machine;
use corefold_model::{TICKS_PER_CYCLE, Ticks, ticks};
use corefold_sim::{Options, Runtime, Sim};

const TIMESLICE: Ticks = 1000 * TICKS_PER_CYCLE;
const GRANULARITY: Ticks = 200 * TICKS_PER_CYCLE;
const CREDIT: Ticks = 600 * TICKS_PER_CYCLE;

/// Thread 0 runs on CPU 0; there are so many threads.
fn sim(threads: usize) -> Sim {
    let mut machine = machine();
    machine.system.timeslice = TIMESLICE / TICKS_PER_CYCLE;
    machine.system.wake_granularity = (GRANULARITY / TICKS_PER_CYCLE) as u32;
    machine.system.sleeper_credit = (CREDIT / TICKS_PER_CYCLE) as u32;
    assert_eq!(ticks(machine.system.sleeper_credit), CREDIT);
    let mut sim = Sim::new(&machine, Options::new(4));
    sim.threads = vec![Runtime::default(); threads];
    sim.threads[0] = Runtime::first(0);
    sim.cpus[0].thread = Some(0);
    sim
}

/// The running thread of CPU 0 goes to sleep at `clock`, and `next` runs.
fn switches(sim: &mut Sim, clock: Ticks, next: usize) {
    let running = sim.cpus[0].thread.unwrap();
    sim.threads[running].end(clock);
    sim.advance(0, clock);
    sim.cpus[0].ready.retain(|thread| *thread != next);
    sim.cpus[0].thread = Some(next);
    sim.join(next, 0);
    sim.threads[next].begin(clock);
}

#[test]
fn a_new_thread_begins_a_slice_ahead() {
    let mut sim = sim(2);
    sim.advance(0, 0);
    sim.join(1, 0);
    assert!(!sim.preempts(1, 0, TIMESLICE + GRANULARITY), "the running one has had no more than that");
    assert!(sim.preempts(1, 0, TIMESLICE + GRANULARITY + 1));
}

#[test]
fn what_a_sleeper_is_behind_is_limited() {
    let mut sim = sim(2);
    switches(&mut sim, 10, 1);
    // Thread 1 has had a long time; 0 is behind by all of it, but by no more than the credit counts.
    let now = 100 * TIMESLICE;
    sim.advance(0, now);
    sim.join(0, 0);
    assert!(sim.preempts(0, 0, now));
    switches(&mut sim, now, 0);
    sim.advance(0, now + CREDIT);
    sim.join(1, 0);
    assert!(!sim.preempts(1, 0, now + CREDIT + GRANULARITY), "0 has caught up just now");
    assert!(sim.preempts(1, 0, now + CREDIT + GRANULARITY + 1));
}

#[test]
fn the_run_queue_is_by_virtual_runtime() {
    let mut sim = sim(4);
    for thread in [1, 2, 3] {
        sim.advance(0, 0);
        sim.join(thread, 0);
    }
    sim.threads[1].begin(0);
    sim.threads[1].end(300);
    for thread in [1, 2, 3] {
        sim.queue(thread, 0, 0);
    }
    assert_eq!(sim.cpus[0].ready, [2, 3, 1], "those that ran less come first, equal ones as they came");
    sim.threads[0].end(0);
    sim.queue(0, 0, 2);
    assert_eq!(sim.cpus[0].ready, [2, 3, 0, 1], "the one that gave way comes behind two, though it ran least");
}

#[test]
fn a_turn_is_prolonged_while_the_others_had_no_less() {
    let mut sim = sim(2);
    sim.advance(0, 0);
    sim.join(1, 0);
    assert!(!sim.is_least(0, 5), "nobody waits");
    sim.queue(1, 0, 0);
    assert!(sim.is_least(0, TIMESLICE));
    assert!(!sim.is_least(0, TIMESLICE + 1));
}

#[test]
fn a_threads_time_on_cpus_is_what_passed_there() {
    let mut thread = Runtime::default();
    assert!(thread.begin(100), "for the first time");
    assert_eq!((thread.until(150), thread.until(90)), (50, 0));
    thread.end(160);
    assert_eq!(thread.until(1000), 60);
    assert!(!thread.begin(2000));
    assert_eq!(thread.until(2007), 67);
}
