// SPDX-License-Identifier: MIT OR Apache-2.0
//! Store buffering and message passing, without a compiled program: what x86-TSO allows is seen, and nothing else.
mod common;

use common::{Lab, Op, Op::*, run};
use corefold_sim::Options;
use std::collections::BTreeSet;

/// Two words on two lines that both CPUs have read.
const X: u64 = 0x1000;
const Y: u64 = 0x2000;

/// All that two programs can find, over delays before each of them and between their operations, on siblings, on one
/// socket and on two.
fn outcomes(first: &[Op], second: &[Op]) -> BTreeSet<(u64, u64)> {
    let mut seen = BTreeSet::new();
    for other in [4, 1, 2] {
        for (before, between) in (0..40).flat_map(|before| [0, 7, 50, 400].map(|between| (before * 12, between))) {
            for swapped in [false, true] {
                let padded = |ops: &[Op], wait: u32| {
                    let mut list = vec![AtomicLoad(X), AtomicLoad(Y), Compute(2000 + wait)];
                    list.extend(ops.iter().flat_map(|op| [*op, Compute(between)]));
                    list
                };
                let mut lists = vec![vec![]; 8];
                lists[0] = padded(first, if swapped { before } else { 0 });
                lists[other] = padded(second, if swapped { 0 } else { before });
                let found = run(Options::new(8), &lists).found;
                let last =
                    |cpu: usize, back: usize| found[cpu].get(2..).and_then(|own| own.iter().nth_back(back)).copied();
                // Results of the first, or both of the second.
                seen.insert(match last(0, 0) {
                    Some(value) => (value, last(other, 0).expect("a result")),
                    None => (last(other, 1).expect("a result"), last(other, 0).expect("a result")),
                });
            }
        }
    }
    seen
}

#[test]
fn store_buffering_is_seen_without_fences_and_not_with_them() {
    let plain = outcomes(&[AtomicStore(X, 1), AtomicLoad(Y)], &[AtomicStore(Y, 1), AtomicLoad(X)]);
    assert!(plain.contains(&(0, 0)) && plain.contains(&(1, 0)) && plain.contains(&(0, 1)), "{plain:?}");
    let fenced = outcomes(&[AtomicStore(X, 1), Fence, AtomicLoad(Y)], &[AtomicStore(Y, 1), Fence, AtomicLoad(X)]);
    assert_eq!(fenced, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
    let locked = outcomes(&[Exchange(X, 1), AtomicLoad(Y)], &[Exchange(Y, 1), AtomicLoad(X)]);
    assert!(!locked.contains(&(0, 0)), "{locked:?}");
}

#[test]
fn message_passing_never_shows_the_flag_without_the_data() {
    let (atomic, plain) = (|address| AtomicStore(address, 1), |address| Store(address, 1));
    for stores in [[atomic(X), atomic(Y)], [plain(X), atomic(Y)], [atomic(X), plain(Y)]] {
        for load in [AtomicLoad, Load] {
            let seen = outcomes(&stores, &[load(Y), load(X)]);
            assert_eq!(seen, BTreeSet::from([(0, 0), (0, 1), (1, 1)]), "{stores:?}");
        }
    }
}

/// Every order of the events and of the stores' taking effect, by hand.
#[test]
fn a_walker_reaches_all_of_store_buffering() {
    let lists = [vec![AtomicStore(X, 1), AtomicLoad(Y)], vec![AtomicStore(Y, 1), AtomicLoad(X)]];
    let mut seen = BTreeSet::new();
    let mut orders = vec![vec![]];
    while let Some(order) = orders.pop() {
        let mut lab = Lab::new(Options { by_hand: true, ..Options::new(2) }, &lists);
        for step in &order {
            walk(&mut lab, *step);
        }
        let next = steps(&lab, &lists);
        if next.is_empty() {
            seen.insert((lab.results.found[0][0], lab.results.found[1][0]));
        }
        orders.extend(next.into_iter().map(|step| order.iter().copied().chain([step]).collect::<Vec<_>>()));
    }
    assert_eq!(seen, BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[derive(Clone, Copy)]
enum Step {
    Run(usize),
    Commit(u32),
}

fn steps(lab: &Lab, lists: &[Vec<Op>]) -> Vec<Step> {
    let runs = (0..lists.len()).filter(|cpu| lab.results.times[*cpu].len() < lists[*cpu].len()).map(Step::Run);
    runs.chain((0..lists.len() as u32).filter(|cpu| lab.sim.stores.any_of(*cpu)).map(Step::Commit)).collect()
}

fn walk(lab: &mut Lab, step: Step) {
    match step {
        Step::Run(cpu) => {
            let clock = lab.lease.clock;
            lab.sim.switch(&mut lab.lease, &mut lab.world, cpu, clock);
            assert!(lab.go_on(cpu));
        }
        Step::Commit(cpu) => lab.sim.stores.commit_first_of(&mut lab.world, cpu, lab.sim.cpu as u32),
    }
}
