// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leases leave out events that change nothing: where they are of length zero, so that every plain access and every block is
//! an event, random programs find the same values at the same times, and leave the same memory.
mod common;

use common::machine::with_small_caches;
use common::random::{op, ops, times};
use common::{Bytes, Lab, Op, Op::*, machine};
use corefold_model::{Core, Machine, Ticks};
use corefold_sim::Options;
use proptest::prelude::*;

const CPUS: usize = 8;
/// One for lines that all CPUs use, and one for each CPU.
const PAGES: usize = CPUS + 1;
const PAGE: u64 = 0x1000;

/// Two of three accesses are to the CPU's own lines, and many of them plain: most leases are for these.
fn program() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let plain = |op| match op {
        AtomicLoad(place) => Load(place),
        Exchange(place, value) => Store(place, value),
        other => other,
    };
    let of = move |cpu: usize| {
        let own = move |place: Bytes| Bytes { address: place.address + (cpu as u64 + 1) * PAGE, ..place };
        let own = move || op().prop_map(move |op| op.at(own));
        ops(prop_oneof![own(), own().prop_map(plain), op()], 20)
    };
    (0..CPUS).map(of).collect::<Vec<_>>()
}

struct Ran {
    found: Vec<Vec<u64>>,
    times: Vec<Vec<Ticks>>,
    ends: Vec<Ticks>,
    memory: Vec<u64>,
    leased: Vec<Vec<bool>>,
    refills: u32,
}

fn ran(machine: &Machine, of_length_zero: bool, lists: &[Vec<Op>]) -> Ran {
    let mut lab = Lab::on(machine, Options::new(CPUS as u32), lists);
    lab.use_leases(of_length_zero);
    while lab.step() {}
    let words: Vec<u64> = (1..=PAGES as u64).flat_map(|page| (0..32).map(move |word| page * PAGE + word * 8)).collect();
    let memory = lab.read(&words);
    let common::Results { found, times, ends } = lab.results;
    Ran { found, times, ends, memory, leased: lab.leased, refills: lab.refills }
}

impl Ran {
    /// The clocks after those operations that `leased` does not name. After the others, and only then, it may be behind: a
    /// wait for a load that the CPU has run past is paid at the next event.
    fn times_but(&self, leased: &[Vec<bool>]) -> Vec<Vec<Ticks>> {
        let of = |(times, leased): (&Vec<Ticks>, &Vec<bool>)| {
            times.iter().zip(leased).filter(|(_, leased)| !**leased).map(|(time, _)| *time).collect()
        };
        self.times.iter().zip(leased).map(of).collect()
    }
}

fn compare(machine: &Machine, lists: &[Vec<Op>]) -> Result<(), TestCaseError> {
    let (with, without) = (ran(machine, false, lists), ran(machine, true, lists));
    prop_assert!(!without.leased.concat().contains(&true) && without.refills == 0);
    prop_assert_eq!(with.times_but(&with.leased), without.times_but(&with.leased));
    prop_assert_eq!((with.found, with.memory, with.ends), (without.found, without.memory, without.ends));
    Ok(())
}

/// The CPU runs past a load for longer than any load takes.
fn far_ahead(machine: Machine) -> Machine {
    Machine { core: Core { window: 10_000, ..machine.core }, ..machine }
}

proptest! {
    #![proptest_config(times(4))]
    #[test]
    fn leases_of_length_zero(lists in program()) {
        compare(&far_ahead(machine()), &lists)?;
    }

    #[test]
    fn leases_of_length_zero_with_small_caches(lists in program()) {
        compare(&far_ahead(with_small_caches()), &lists)?;
    }
}

proptest! {
    #![proptest_config(times(4))]
    #[test]
    #[ignore = "a lease has no limit where a load has to be waited for: until its next event, the CPU's clock is behind"]
    fn leases_of_length_zero_where_loads_are_waited_for(lists in program()) {
        compare(&machine(), &lists)?;
    }
}

/// What the tests above compare is not the same run twice.
#[test]
fn leases_cover_computation_loads_and_stores_and_lines_are_refilled() {
    let own = |line: u64| Bytes::word(PAGE + line * 64);
    let lists =
        [vec![Store(own(0), 1), Compute(10), Store(own(0), 2), Load(own(0)), Load(own(2)), Load(own(4)), Load(own(0))]];
    let ran = |of_length_zero| {
        let mut lab = Lab::on(&with_small_caches(), Options::new(1), &lists);
        lab.use_leases(of_length_zero);
        while lab.step() {}
        (lab.leased.concat(), lab.refills)
    };
    assert_eq!(ran(false), (vec![false, true, true, true, false, false, false], 1));
    assert_eq!(ran(true), (vec![false; 7], 0));
}

/// Found by the property tests: an access to a line that has left the first level comes after the stores that are due by
/// then, if its CPU has any that wait, as these may have to ask for their lines again.
#[test]
fn a_line_is_not_refilled_before_stores_that_wait() {
    let (shared, own) = (Bytes::word(PAGE + 64), |line: u64| Bytes::word(8 * PAGE + line * 64));
    let mut lists = vec![vec![]; CPUS];
    lists[3] = vec![AtomicStore(shared, 1)];
    lists[5] = vec![Load(shared), Compute(180)];
    lists[7] = vec![Store(own(0), 1), AtomicStore(shared, 1), Compute(1), Store(own(1), 1), AtomicLoad(own(2))];
    lists[7].extend([0, 1, 2].map(|line| Store(own(line), 1)));
    for apart in [false, true] {
        let machine = far_ahead(with_small_caches());
        let core = Core { adjacent_line: apart, ..machine.core };
        compare(&Machine { core, ..machine }, &lists).expect("the same");
    }
}
