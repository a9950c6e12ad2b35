// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who runs next, and up to when a CPU runs without events.
use super::*;
use crate::Watched;
use crate::What;
use crate::testing::{Bench, machine};
use proptest::prelude::*;

/// CPUs 1 to 3 wait for their turn at these clocks.
fn with_others(clocks: [Ticks; 3]) -> Bench {
    let mut bench = Bench::new(&machine());
    for (cpu, clock) in (1..).zip(clocks) {
        bench.sim.clocks.push(clock, cpu);
        bench.sim.cpus[cpu as usize].clock = clock;
    }
    bench
}

#[test]
fn the_cpu_with_the_smallest_clock_runs_next() {
    let mut sim = with_others([50, 30, 40]).sim;
    assert_eq!(sim.next(29), Turn::Same);
    assert_eq!(sim.next(30), Turn::Of(0, 30), "of equal clocks the smaller number comes first");
    assert_eq!(sim.next(31), Turn::Of(2, 30));
    assert_eq!((sim.others(), sim.clocks.first()), (31, Some(0)), "the one that ran waits");
    assert_eq!(sim.clock_of(0, 7), 7, "the running one's clock is the lease's");
}

#[test]
fn a_timer_that_is_due_comes_before_any_cpu() {
    let mut sim = with_others([50, 60, 70]).sim;
    sim.timers.set_alarm(0, 40);
    assert_eq!(sim.next(39), Turn::Same);
    assert_eq!(sim.next(55), Turn::Timer);
    let waiting = core::iter::from_fn(|| sim.clocks.pop()).collect::<Vec<_>>();
    assert_eq!(waiting, [(50, 1), (55, 0), (60, 2), (70, 3)], "the CPU that ran waits for its turn, too");
}

#[test]
fn the_slack_is_for_what_others_cannot_observe() {
    let mut sim = Sim::new(&machine(), Options { slack: 10, ..Options::new(2) });
    sim.clocks.push(1000, 1);
    let last = 1000 + ticks(10) - 1;
    assert!(sim.within_slack(last) && !sim.within_slack(last + 1));
    assert!(!sim.too_far_ahead(last) && sim.too_far_ahead(last + 1));
    sim.timers.set_alarm(0, 500);
    assert!(sim.too_far_ahead(500 + ticks(10)), "timers are not kept waiting for longer either");
    assert_eq!((sim.shown(900), sim.shown(1200)), (900, 1000), "stores show no later than others act");
}

#[test]
fn cycles_are_counted_once_they_are_enough() {
    let mut sim = Sim::new(&machine(), Options::new(1));
    assert_eq!(sim.take_counted(COUNTED_AT_ONCE - 1), None);
    assert_eq!(sim.take_counted(COUNTED_AT_ONCE + 7), Some(COUNTED_AT_ONCE + 7));
    assert_eq!(sim.take_counted(COUNTED_AT_ONCE + 8), None, "each is counted once");
    assert_eq!(sim.take_counted(3 * COUNTED_AT_ONCE), Some(2 * COUNTED_AT_ONCE - 7));
}

/// Does the lease cover a read of the running CPU's own line, and a store?
fn covers(bench: &Bench) -> (bool, bool) {
    let (cpu, lease) = (bench.sim.cpu as u32, &bench.lease);
    let (clean, dirty) = (Tag::private_clean(cpu).bits(), Tag::private_dirty(cpu).bits());
    let read = [clean, dirty].map(|tag| tag & !3 == lease.tag.get());
    assert_eq!(read[0], read[1]);
    (read[0], dirty == lease.tag_dirty.get())
}

#[test]
fn reads_and_stores_of_one_cpu_are_shown_until_they_are_not() {
    let mut bench = Bench::new(&machine());
    assert_eq!(covers(&bench), (true, true));
    bench.sim.show_reads(true, &bench.lease);
    assert_eq!(covers(&bench), (false, true));
    bench.runs(1, 0);
    assert_eq!(covers(&bench), (true, true), "another CPU's are not");
    bench.sim.show_stores(true, &bench.lease);
    bench.runs(0, 0);
    assert_eq!(covers(&bench), (false, true), "it is kept while others run");
    bench.sim.show_reads(false, &bench.lease);
    assert_eq!(covers(&bench), (true, true));
    bench.runs(1, 0);
    assert_eq!(covers(&bench), (true, false));
    bench.sim.show_stores(false, &bench.lease);
    assert_eq!(covers(&bench), (true, true));
}

#[test]
fn under_a_seed_every_access_is_an_event() {
    let mut sim = Sim::new(&machine(), Options { seed: 1, ..Options::new(2) });
    let lease = Lease::default();
    sim.run(1, 0, &lease);
    assert_eq!((lease.tag.get(), lease.tag_dirty.get()), (Lease::NO_TAG, Lease::NO_TAG));
}

#[test]
fn a_cpu_knows_the_other_threads_of_its_core() {
    // Two cores of two threads on each of two sockets: the second threads come last.
    let sim = Sim::new(&machine(), Options::new(8));
    for cpu in 0..8 {
        assert_eq!(sim.siblings(cpu).collect::<Vec<_>>(), [(cpu + 4) % 8]);
    }
    let few = Sim::new(&machine(), Options::new(4));
    assert!((0..4).all(|cpu| few.siblings(cpu).next().is_none()), "the others take no part");
}

#[test]
fn a_busy_sibling_slows_a_cpu_down_from_when_it_begins_until_it_ends() {
    let mut bench = Bench::new(&machine());
    let half = |bench: &mut Bench, clock| {
        bench.lease.clock.set(clock);
        bench.sim.set_limit(&bench.lease, false);
        (bench.lease.cost_half.get(), bench.sim.sibling_changes())
    };
    assert!(!bench.sim.sibling_busy(0));
    (bench.sim.cpus[4].thread, bench.sim.cpus[4].busy_from) = (Some(1), 100);
    assert!(bench.sim.sibling_busy(0) && !bench.sim.sibling_busy(1));
    assert_eq!(half(&mut bench, 99), (0, 100));
    assert_eq!(half(&mut bench, 100), (2, Ticks::MAX), "nobody knows when it ends");
    (bench.sim.cpus[4].thread, bench.sim.cpus[4].clock) = (None, 300);
    assert_eq!(half(&mut bench, 299), (2, 300));
    assert_eq!(half(&mut bench, 300), (0, Ticks::MAX));
    // It has another thread from a time on that this CPU has not come to, nor to the end of the first.
    let sibling = &mut bench.sim.cpus[4];
    (sibling.thread, sibling.busy_from, sibling.busy_until) = (Some(1), 500, 300);
    assert_eq!(half(&mut bench, 299), (2, 300));
    assert_eq!(half(&mut bench, 300), (0, 500));
    assert_eq!(half(&mut bench, 500), (2, Ticks::MAX));
}

/// CPU 4 shares the core of CPU 0, which is 300 ticks ahead of it.
#[test]
fn a_locked_operation_comes_after_those_of_a_sibling_that_is_behind() {
    let waits = |other: usize| {
        let mut bench = Bench::new(&machine());
        bench.does(What::Update, 0x1000);
        bench.sim.cpus[other].thread = Some(1);
        bench.sim.cpus[other].clock = bench.clock().saturating_sub(300);
        bench.sim.clocks.push(bench.sim.cpus[other].clock, other as u32);
        let mut event = bench.event(What::Update, 0x1000);
        bench.sim.event(&bench.lease, &mut bench.world, &mut event).has(Effects::OTHERS)
    };
    assert_eq!((waits(4), waits(1)), (true, false));
}

proptest! {
    /// The limit is the first of all that a CPU has to look up for.
    #[test]
    fn the_limit_is_the_first_of_its_reasons(
        other in 0u64..1000, timer in 0u64..1000, sibling in 1u64..1000, slice in 0u64..1000, sample in 0u64..1000,
        used in any::<[bool; 5]>(),
    ) {
        let mut bench = Bench::new(&machine());
        let sim = &mut bench.sim;
        let mut due = vec![COUNTED_AT_ONCE];
        if used[0] {
            sim.clocks.push(other, 1);
            due.push(other);
        }
        if used[1] {
            sim.timers.set_alarm(0, timer);
            due.push(timer);
        }
        if used[2] {
            (sim.cpus[4].thread, sim.cpus[4].busy_from) = (Some(1), sibling);
            due.push(sibling);
        }
        if used[3] {
            sim.cpus[0].ready.push_back(2);
            sim.cpus[0].slice_end = slice;
            due.push(slice);
        }
        let looks_up = *due.iter().min().expect("one at least");
        if used[4] {
            sim.cpus[0].next_sample = sample;
            due.push(sample);
        }
        sim.set_limit(&bench.lease, false);
        prop_assert_eq!(Some(bench.lease.limit.get()), due.into_iter().min());
        prop_assert!(sim.is_due(looks_up) && (looks_up == 0 || !sim.is_due(looks_up - 1)));
        sim.cpus[0].next_sample = Ticks::MAX;
        sim.sampled(&bench.lease);
        prop_assert_eq!(bench.lease.limit.get(), looks_up, "a sample was taken");
        sim.set_limit(&bench.lease, true);
        prop_assert_eq!((bench.lease.limit.get(), sim.is_due(0)), (0, true), "urgent");
    }
}

#[test]
fn each_block_is_an_event_while_the_core_is_ahead() {
    let mut bench = Bench::new(&machine());
    bench.sim.cpus[0].run_ahead.waited(100, 50, 0);
    bench.sim.set_limit(&bench.lease, false);
    assert_eq!(bench.lease.limit.get(), 0);
    bench.sim.cpus[0].run_ahead.lost();
    bench.sim.sampled(&bench.lease);
    assert_eq!(bench.lease.limit.get(), COUNTED_AT_ONCE);
}

#[test]
fn the_clock_of_a_cpu_that_skips_is_that_of_its_last_read() {
    let mut bench = Bench::new(&machine());
    bench.does(What::AtomicLoad, 0x1000);
    bench.runs(1, bench.clock() + ticks(1000));
    bench.does(What::AtomicLoad, 0x1000);
    let clock = bench.sim.model.drain(1, bench.clock());
    bench.lease.clock.set(clock);
    let mut spin = crate::Spin { period: 10, lines: Default::default(), read: Default::default() };
    spin.lines[0] = Watched { line: 0x1000, after: 0 };
    assert!(bench.sim.skip(&bench.lease, &mut bench.world, spin, 1005));
    assert_eq!(bench.clock(), clock + 1000);
    bench.sim.cpus[1].clock = bench.clock();
    bench.runs(2, 77);
    assert_eq!((bench.sim.clock_of(1, 77), bench.sim.latest_clock(77)), (clock, clock));
}
