// SPDX-License-Identifier: MIT OR Apache-2.0
//! Against a list of the turns that a spin would make.
use super::*;
use crate::testing::{Bench, machine};
use crate::{LOOKS, Watched, What};
use corefold_model::ticks;
use proptest::prelude::*;

const FLAG: u64 = 0x1000;
const BESIDE: u64 = 0x2000;
const PERIOD: Ticks = 10;

fn spin(period: Ticks, lines: &[(u64, Ticks)], read: &[(u64, Ticks)]) -> Spin {
    let watched = |places: &[(u64, Ticks)]| {
        let mut all = [Watched::default(); LOOKS];
        all.iter_mut().zip(places).for_each(|(slot, (line, after))| *slot = Watched { line: *line, after: *after });
        all
    };
    Spin { period, lines: watched(lines), read: watched(read) }
}

proptest! {
    /// A read that is made `after` the begin of each turn: the first that is not over at `time`, as all clocks are ordered
    /// by time and then by the CPU's number. The turn in which the skip began has made its first read.
    #[test]
    fn a_skip_ends_with_the_first_read_that_is_not_over(
        since in 0u64..20, period in 1u64..12, after in 0u64..12, time in 0u64..100, cpu in 0usize..3, running in 0usize..3,
    ) {
        let after = after % period;
        let skip = Skip { since, spin: spin(period, &[], &[]), disturbed: false };
        let first = u64::from(after == 0);
        let turn = (first..).map(|turn| since + turn * period).find(|begin| (begin + after, cpu) >= (time, running));
        prop_assert_eq!(Some(skip.turn_with(after, cpu, running, time)), turn);
    }

    #[test]
    fn a_sibling_goes_on_where_its_turn_began(since in 0u64..20, period in 1u64..12, time in 0u64..100) {
        let skip = Skip { since, spin: spin(period, &[], &[]), disturbed: false };
        let turn = (0..).map(|turn| since + turn * period).take_while(|begin| *begin <= time.max(since)).last();
        prop_assert_eq!(Some(skip.turn_at(time)), turn);
    }

    /// Lines are watched as long as a CPU that skips watches them.
    #[test]
    fn watched_lines_are_counted(calls in prop::collection::vec((0usize..4, 1u64..4, 0u64..4, any::<bool>()), 0..40)) {
        let (mut skips, mut list) = (SpinSkips::new(4), [None; 4]);
        for (cpu, line, read, begins) in calls {
            match begins && list[cpu].is_none() {
                true => {
                    list[cpu] = Some([line, read]);
                    let spin = spin(1, &[(line, 0)], &[(read, 0)]);
                    skips.begin(cpu, Skip { since: 0, spin, disturbed: false });
                }
                false => prop_assert_eq!(skips.end(cpu).is_some(), list[cpu].take().is_some()),
            }
            for line in 0..4 {
                let count = list.iter().flatten().flatten().filter(|its| **its == line && line != 0).count();
                prop_assert_eq!(skips.watched.get(&line).copied().unwrap_or(0) as usize, count);
            }
        }
    }
}

/// CPUs 1 and 5, of one core, have read both lines; CPU 1 is at some clock, and nothing is under way.
fn waiting() -> Bench {
    let mut bench = Bench::new(&machine());
    for cpu in [0, 5, 1] {
        bench.runs(cpu, bench.clock() + ticks(1000));
        bench.does(What::AtomicLoad, FLAG);
        bench.does(What::AtomicLoad, BESIDE);
        let drained = bench.sim.model.drain(cpu as u32, bench.clock());
        bench.lease.clock.set(drained);
    }
    bench.runs(1, bench.clock());
    bench
}

impl Bench {
    /// The running CPU skips, if it can, for no longer than `longest`. Returns when the skip began and when it ends.
    fn skips(&mut self, spin: Spin, longest: Ticks) -> Option<(Ticks, Ticks)> {
        let (cpu, from) = (self.sim.cpu, self.clock());
        if !self.sim.skip(&self.lease, &mut self.world, spin, longest) {
            assert_eq!(self.clock(), from);
            return None;
        }
        self.sim.cpus[cpu].clock = self.clock();
        self.sim.clocks.push(self.clock(), cpu as u32);
        assert_eq!(self.sim.skips.since(cpu), Some(from));
        Some((from, self.clock()))
    }
}

fn flag() -> Spin {
    spin(PERIOD, &[(FLAG, 0)], &[(BESIDE, 4)])
}

#[test]
fn a_skip_is_of_whole_turns_and_no_longer_than_it_may_be() {
    for (longest, turns) in [(0, 0), (10, 0), (11, 1), (20, 1), (21, 2), (1000, 99), (1001, 100)] {
        let skipped = waiting().skips(flag(), longest).map_or(0, |(from, until)| until - from);
        assert_eq!(skipped, turns * PERIOD, "{longest}");
    }
}

#[test]
fn nothing_is_skipped_past_what_ends_it() {
    let ends = |prepare: &dyn Fn(&mut Bench, Ticks)| {
        let mut bench = waiting();
        let clock = bench.clock();
        prepare(&mut bench, clock);
        bench.skips(flag(), 100_000).map_or(0, |(from, until)| until - from)
    };
    assert_eq!(ends(&|_, _| {}), 99_990);
    let slice = |bench: &mut Bench, clock| {
        bench.sim.cpus[1].ready.push_back(3);
        bench.sim.cpus[1].slice_end = clock + 501;
    };
    assert_eq!(ends(&slice), 500, "its thread's turn");
    let sibling = |bench: &mut Bench, clock| {
        (bench.sim.cpus[5].thread, bench.sim.cpus[5].busy_from) = (Some(1), clock + 301);
        bench.sim.set_limit(&bench.lease, false);
    };
    assert_eq!(ends(&sibling), 300, "a sibling that begins to run");
    let store = |bench: &mut Bench, clock| {
        bench.sim.stores.defer(&mut bench.world, 1, (BESIDE + 8, 8), 1, clock + 201, 0);
    };
    assert_eq!(ends(&store), 200, "a store to a line that it reads");
    let under_way = |bench: &mut Bench, _| _ = bench.does(What::Load, 0x9000);
    assert_eq!(ends(&under_way), 0, "a load under way");
    assert_eq!(ends(&|bench, clock| bench.sim.cpus[1].run_ahead.waited(5, 5, clock)), 0, "the core is ahead");
    assert_eq!(ends(&|bench, _| bench.sim.step_by_step = true), 0);
    assert!(waiting().skips(spin(0, &[(FLAG, 0)], &[]), 1000).is_none(), "turns that take no time");
    assert!(waiting().skips(spin(PERIOD, &[(0x7000, 0)], &[]), 1000).is_none(), "a line that it has not");
}

#[test]
fn a_request_for_a_line_that_is_watched_ends_the_skip_at_the_turn_that_sees_it() {
    for (line, cpu, at, turn) in [
        (FLAG, 0, 35, 40),
        (FLAG, 0, 40, 40),
        (FLAG, 2, 40, 50),
        (BESIDE, 0, 35, 40),
        (BESIDE, 0, 34, 30),
        (BESIDE, 2, 34, 40),
    ] {
        let mut bench = waiting();
        let (from, _) = bench.skips(flag(), 1000).expect("it skips");
        bench.sim.run(cpu, from + at, &bench.lease);
        assert!(!bench.sim.touched(0x7000, from + at), "another line");
        assert!(bench.sim.touched(line + 8, from + at));
        assert_eq!(bench.sim.cpus[1].clock, from + turn, "{line:x} by CPU {cpu} at {at}");
        assert_eq!(bench.sim.clocks.pop(), Some((from + turn, 1)));
        let skipped = bench.sim.end_skip(1, from + turn);
        assert_eq!(skipped, Some(Skipped { time: turn - PERIOD, disturbed: line == BESIDE }));
        assert!(!bench.sim.touched(line, from + turn) && bench.sim.end_skip(1, from + turn).is_none(), "it is over");
    }
}

#[test]
fn a_cpu_is_roused_sooner_but_not_later() {
    let mut bench = waiting();
    let (from, _) = bench.skips(flag(), 1000).expect("it skips");
    bench.sim.run(0, from + 95, &bench.lease);
    for (at, turn) in [(95, 100), (35, 40), (75, 40)] {
        bench.sim.touched(FLAG, from + at);
        assert_eq!(bench.sim.cpus[1].clock, from + turn);
    }
}

/// As a thread is placed on it, or taken from it.
#[test]
fn a_cpu_that_has_something_else_to_do_ends_its_skip() {
    let mut bench = waiting();
    let (from, until) = bench.skips(flag(), 1000).expect("it skips");
    bench.sim.run(0, from + 42, &bench.lease);
    assert!(!bench.sim.disturb(2, from + 42), "that CPU does not skip");
    assert_eq!(bench.sim.cpus[1].clock, until);
    assert!(bench.sim.disturb(1, from + 42));
    assert_eq!((bench.sim.cpus[1].clock, bench.sim.clocks.smallest()), (from + 50, from + 50));
    assert_eq!(bench.sim.end_skip(1, from + 50), Some(Skipped { time: 40, disturbed: false }));
    assert!(!bench.sim.disturb(1, from + 60));
}

#[test]
fn a_cpu_that_begins_or_ends_to_run_rouses_its_siblings_in_their_turn() {
    let mut bench = waiting();
    let (from, until) = bench.skips(flag(), 1000).expect("it skips");
    assert!(!bench.sim.rouse_siblings(0, from + 47) && !bench.sim.rouse_siblings(1, from + 47));
    assert_eq!(bench.sim.cpus[1].clock, until);
    assert!(bench.sim.rouse_siblings(5, from + 47));
    assert_eq!((bench.sim.cpus[1].clock, bench.sim.clocks.first()), (from + 40, Some(1)));
}

#[test]
fn for_accounts_all_skips_end() {
    let mut bench = waiting();
    let (first, _) = bench.skips(flag(), 1000).expect("CPU 1 skips");
    bench.runs(0, first + 3);
    let (second, _) = bench.skips(spin(PERIOD + 3, &[(FLAG, 0)], &[]), 1000).expect("CPU 0 skips");
    bench.runs(2, first + 50);
    bench.sim.rouse_all(first + 71);
    // The first reads after that time: of turns of 10 from 0 on, and of 13 from 3 on.
    assert_eq!((bench.sim.cpus[1].clock, bench.sim.cpus[0].clock), (first + 80, second + 6 * 13));
    let waiting: Vec<_> = core::iter::from_fn(|| bench.sim.clocks.pop()).collect();
    assert_eq!(waiting, [(first + 80, 1), (first + 81, 0)]);
}
