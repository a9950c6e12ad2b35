// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::{Options, Runtime};
use alloc::vec::Vec;
use corefold_model::{Machine, ticks};
use proptest::prelude::*;

/// Two sockets of two clusters of two cores with two hardware threads: CPUs 0 to 7 are the cores' first threads.
fn machine() -> Machine {
    let mut machine = crate::testing::machine();
    (machine.sockets, machine.cores_per_socket, machine.cores_per_cluster) = (2, 4, 2);
    (machine.sockets_per_group, machine.threads_per_core) = (2, 2);
    machine
}

/// As many threads as `homes`, each running on its CPU.
fn sim(homes: &[usize], idle: usize) -> Sim {
    let mut sim = Sim::new(&machine(), Options::new(16));
    sim.threads = alloc::vec![Runtime::default(); homes.len() + idle];
    for (thread, cpu) in homes.iter().enumerate() {
        sim.begin(thread, *cpu, 0);
    }
    sim
}

fn only_on(sim: &mut Sim, thread: usize, cpus: &[usize]) {
    sim.threads[thread].affinity = alloc::vec![cpus.iter().fold(0, |set, cpu| set | 1 << cpu)];
}

/// The CPU that thread `thread` runs on when it wakes.
fn goes_to(sim: &mut Sim, thread: usize, home: usize) -> Option<usize> {
    match sim.wake(thread, home, 1000, 70) {
        Woken::Runs(begun) => {
            assert_eq!((begun.thread, begun.since, begun.first), (thread, 1070, true));
            assert_eq!((sim.cpus[begun.cpu].thread, sim.cpus[begun.cpu].busy_from), (Some(thread), 1070));
            Some(begun.cpu)
        }
        Woken::Waits(_) => None,
    }
}

#[test]
fn a_woken_thread_goes_to_its_own_cpu_if_that_is_idle() {
    let mut sim = sim(&[0, 1], 1);
    sim.cpus[5].clock = 800;
    assert_eq!(goes_to(&mut sim, 2, 5), Some(5));
    assert_eq!(sim.cpus[5].busy_until, 800, "when it had become idle");
}

#[test]
fn else_to_the_nearest_idle_one_on_a_core_with_nothing_to_do() {
    // CPU 1 shares a cache with 0; 8 and 9 are the second threads of their cores.
    assert_eq!(goes_to(&mut sim(&[0], 1), 1, 0), Some(1));
    assert_eq!(goes_to(&mut sim(&[0, 9], 1), 2, 0), Some(1), "both cores of the cluster are busy: a first thread");
    assert_eq!(goes_to(&mut sim(&[0, 1], 1), 2, 0), Some(8), "the same cache before another core");
    assert_eq!(goes_to(&mut sim(&[0, 1, 8, 9], 1), 4, 0), Some(2), "the same socket");
    assert_eq!(goes_to(&mut sim(&[0, 1, 2, 3, 8, 9, 10, 11], 1), 8, 0), Some(4), "the other one");
}

#[test]
fn and_only_where_it_may_run() {
    let mut sim = sim(&[0], 1);
    only_on(&mut sim, 1, &[0, 6, 7]);
    assert_eq!(goes_to(&mut sim, 1, 0), Some(6));
    only_on(&mut sim, 1, &[0]);
    assert_eq!(sim.wake(1, 0, 2000, 70), Woken::Waits(0));
}

#[test]
fn where_none_is_idle_it_waits_or_preempts_who_has_had_more() {
    let mut sim = sim(&(0..16).collect::<Vec<_>>(), 3);
    assert_eq!(sim.wake(16, 3, 1000, 70), Woken::Waits(3));
    assert_eq!((sim.cpus[3].ready.front(), sim.cpus[3].preempted_at), (Some(&16), Ticks::MAX), "a new one waits");
    let long = 100 * sim.timeslice();
    assert_eq!(sim.wake(17, 3, long, 70), Woken::Waits(3));
    assert_eq!((sim.cpus[3].ready.front(), sim.cpus[3].preempted_at), (Some(&17), long + 70));
    assert_eq!(sim.wake(18, 3, long, 70), Woken::Waits(3));
    assert_eq!(sim.cpus[3].ready.iter().copied().collect::<Vec<_>>()[..2], [17, 16], "one preempts at a time");
}

#[test]
fn a_cpu_runs_its_own_threads_then_those_of_the_longest_queue_nearest_to_it() {
    let mut sim = sim(&(0..16).collect::<Vec<_>>(), 6);
    for (thread, cpu) in [(16, 5), (17, 5), (18, 1), (19, 2), (20, 2), (21, 0)] {
        sim.queue(thread, cpu, 0);
    }
    let mut runs = |cpu: usize| {
        sim.clocks.remove(cpu as u32);
        let begun = sim.run_next(cpu, 5000)?;
        assert_eq!((begun.cpu, begun.since), (cpu, 5000 + sim.context_switch));
        assert_eq!((sim.cpus[cpu].thread, sim.cpus[cpu].preempted_at), (Some(begun.thread), Ticks::MAX));
        Some(begun.thread)
    };
    assert_eq!([runs(0), runs(0)], [Some(21), Some(18)], "its own, then its cluster's");
    assert_eq!([runs(0), runs(0)], [Some(19), Some(20)], "its socket's");
    assert_eq!([runs(0), runs(0), runs(0)], [Some(16), Some(17), None]);
    assert_eq!((sim.cpus[0].thread, sim.cpus[0].clock), (None, 5000));
}

#[test]
fn the_longer_of_two_queues_as_near_and_who_may_come() {
    let mut sim = sim(&(0..16).collect::<Vec<_>>(), 4);
    for (thread, cpu) in [(16, 2), (17, 3), (18, 3), (19, 1)] {
        sim.queue(thread, cpu, 0);
    }
    only_on(&mut sim, 19, &[1]);
    only_on(&mut sim, 17, &[3]);
    sim.clocks.remove(0);
    assert_eq!(sim.run_next(0, 5000).map(|begun| begun.thread), Some(18));
    sim.unqueue(16);
    sim.clocks.remove(0);
    assert_eq!(sim.run_next(0, 5000), None, "the others may not");
}

#[test]
fn a_turn_passes_to_who_has_had_less() {
    let mut sim = sim(&[0], 1);
    let slice = sim.timeslice();
    sim.advance(0, 0);
    sim.join(1, 0);
    sim.queue(1, 0, 0);
    assert!(!sim.turn_passes(slice), "a new thread begins a slice ahead");
    assert_eq!(sim.cpus[0].slice_end, 2 * slice);
    assert!(sim.turn_passes(slice + 1));
}

#[test]
fn an_interrupt_delays_its_targets_once_they_have_drained() {
    let mut sim = sim(&[1, 2, 3], 0);
    sim.clocks.change(|cpu| Some(1000 + Ticks::from(cpu)));
    assert_eq!(sim.interrupt(&[1, 3], ticks(10), 500), 1003);
    let mut clocks: Vec<_> = core::iter::from_fn(|| sim.clocks.pop()).collect();
    clocks.sort_by_key(|(_, cpu)| *cpu);
    assert_eq!(clocks, [(1001 + ticks(10), 1), (1002, 2), (1003 + ticks(10), 3)]);
    assert_eq!(sim.cpus[3].clock, 1003 + ticks(10));
    assert_eq!(sim.interrupt(&[], ticks(10), 500), 500);
}

/// Where each thread is: on a CPU, in a run queue, or (`None`) blocked.
fn places(sim: &Sim) -> Vec<Option<usize>> {
    let mut places = alloc::vec![None; sim.threads.len()];
    for (number, cpu) in sim.cpus.iter().enumerate() {
        for thread in cpu.thread.into_iter().chain(cpu.ready.iter().copied()) {
            assert_eq!(places[thread].replace(number), None, "thread {thread} is in two places");
        }
    }
    places
}

proptest! {
    /// Threads wake and block in any order. Each is in one place, where it may run; none waits while a CPU that it may run on is
    /// idle; CPUs with a thread wait for their turn, and no others; no CPU's clock falls.
    #[test]
    fn threads_are_where_they_may_run_and_no_cpu_idles_beside_one_that_waits(
        affinities in prop::collection::vec(prop::option::of(1u64..1 << 16), 1..40),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0usize..16, 0u64..2000), 1..120),
    ) {
        let mut sim = sim(&[], affinities.len());
        let set = |affinity: &Option<u64>| Runtime::new(affinity.iter().copied().collect());
        sim.threads = affinities.iter().map(set).collect();
        let mut now = 0;
        for (which, home, time) in steps {
            now += time;
            let clocks: Vec<Ticks> = sim.cpus.iter().map(|cpu| cpu.clock).collect();
            let thread = which.index(affinities.len());
            match places(&sim)[thread] {
                None => drop(sim.wake(thread, home, now, 70)),
                Some(cpu) if sim.cpus[cpu].thread == Some(thread) => {
                    let clock = sim.cpus[cpu].clock.max(now);
                    sim.threads[thread].end(clock);
                    sim.advance(cpu, clock);
                    sim.clocks.remove(cpu as u32);
                    sim.run_next(cpu, clock);
                }
                Some(_) => sim.unqueue(thread),
            }
            for (thread, place) in places(&sim).into_iter().enumerate() {
                let may = |cpu: usize| sim.threads[thread].may_run_on(cpu);
                prop_assert!(place.is_none_or(may), "{} at {:?}", thread, place);
                let waits = place.is_some_and(|cpu| sim.cpus[cpu].thread != Some(thread));
                let idle = (0..16).find(|cpu| may(*cpu) && sim.cpus[*cpu].thread.is_none());
                prop_assert!(!waits || idle.is_none(), "{} waits at {:?}, {:?} is idle", thread, place, idle);
            }
            prop_assert!(sim.cpus.iter().zip(clocks).all(|(cpu, before)| cpu.clock >= before));
        }
        let mut waiting: Vec<usize> = core::iter::from_fn(|| sim.clocks.pop()).map(|(_, cpu)| cpu as usize).collect();
        waiting.sort_unstable();
        let busy: Vec<usize> = (0..16).filter(|cpu| sim.cpus[*cpu].thread.is_some()).collect();
        prop_assert_eq!(waiting, busy);
    }
}
