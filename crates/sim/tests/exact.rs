// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run-ahead on lines that a CPU holds, and skipped spins, change nothing: random programs find the same values at the
//! same times as without either.
mod common;

use common::{Bytes, Lab, Op, Op::*, Results, run};
use corefold_sim::Options;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn op() -> impl Strategy<Value = Op> {
    // Two words on each of three lines.
    let word = || (0u64..3, 0u64..2).prop_map(|(line, word)| Bytes::word(0x1000 + line * 64 + word * 8));
    prop_oneof![
        3 => (0u32..300).prop_map(Compute),
        3 => word().prop_map(Load),
        4 => word().prop_map(AtomicLoad),
        2 => (word(), 1u64..9).prop_map(|(word, value)| Store(word, value)),
        3 => (word(), 1u64..9).prop_map(|(word, value)| AtomicStore(word, value)),
        2 => (word(), 1u64..9).prop_map(|(word, value)| Exchange(word, value)),
        1 => Just(Fence),
    ]
}

fn lists(most: usize) -> impl Strategy<Value = Vec<Vec<Op>>> {
    prop::collection::vec(prop::collection::vec(op(), 0..most), 8)
}

/// So many times the cases that other tests get (`PROPTEST_CASES`).
fn times(factor: u32) -> ProptestConfig {
    ProptestConfig::with_cases(ProptestConfig::default().cases * factor)
}

/// `make test` must not fail by luck: `.cargo/config.toml` names the seed.
#[test]
fn property_tests_draw_the_same_cases_at_each_run() {
    let config = ProptestConfig::default();
    assert!(matches!(config.rng_seed, RngSeed::Fixed(_)), "no PROPTEST_RNG_SEED: is this cargo, in the repository?");
    assert!(config.failure_persistence.is_none(), "failures of earlier runs would be tried first");
}

proptest! {
    #![proptest_config(times(40))]
    #[test]
    fn run_ahead_on_held_lines(lists in lists(14)) {
        let steps = run(Options { step_by_step: true, ..Options::new(8) }, &lists);
        prop_assert_eq!(run(Options::new(8), &lists), steps);
    }
}

/// A store waits for room in the store buffer behind four whose lines come from memory, in 180 cycles, as the line of a
/// load does that the CPU has run past. The next load waits for nothing more.
#[test]
fn a_wait_for_room_in_the_store_buffer_is_paid_once() {
    let word = |line: u64| Bytes::word(0x1000 + line * 64);
    let mut list: Vec<Op> = (0..4).map(|line| AtomicStore(word(line), 1)).collect();
    list.extend([Load(word(4)), AtomicStore(word(5), 1), AtomicLoad(word(6))]);
    let results = run(Options::new(1), &[list]);
    assert_eq!(results.times[0][5..], [180 * 16; 2]);
}

/// Waiters on one word or two, which others write after a while.
fn waiting() -> impl Strategy<Value = Vec<Vec<Op>>> {
    // Few different times, so that many events fall together.
    let period = prop_oneof![Just(10u32), Just(20), Just(35)];
    let waiter = ((0u32..200).prop_map(|tens| tens * 10), period, prop::collection::vec(op(), 0..4))
        .prop_map(|(before, period, rest)| [vec![Compute(before), Await(FLAG, 1, period)], rest].concat());
    let writer = (prop::collection::vec(op(), 0..6), 0u32..20_000, prop::collection::vec(op(), 0..6), 0u32..9_000)
        .prop_map(|(first, later, then, last)| {
            let near = vec![Compute(later), AtomicStore(NEXT, 7), Compute(last), AtomicStore(FLAG, 2)];
            [first, near, then, vec![Compute(last / 2), AtomicStore(FLAG, 1)]].concat()
        });
    (prop::collection::vec(waiter, 3), writer).prop_map(|(mut lists, writer)| {
        lists.insert(1, writer);
        lists
    })
}

/// The same, and what their siblings do meanwhile, which may be nothing.
fn waiting_beside() -> impl Strategy<Value = Vec<Vec<Op>>> {
    (waiting(), prop::collection::vec(prop::collection::vec(op(), 0..20), 4))
        .prop_map(|(first, then)| [first, then].concat())
}

const FLAG: Bytes = Bytes::word(0x8000);
const NEXT: Bytes = Bytes::word(0x8008);

fn waited(skips_after: u32, lists: &[Vec<Op>]) -> (Results, u64) {
    let mut lab = Lab::new(Options { step_by_step: skips_after == 0, ..Options::new(lists.len() as u32) }, lists);
    lab.skips_after = skips_after;
    while lab.step() {}
    (lab.results, lab.skipped)
}

proptest! {
    #![proptest_config(times(2))]
    #[test]
    fn skipped_spins(lists in waiting()) {
        prop_assert_eq!(waited(3, &lists).0, waited(0, &lists).0);
    }

    #[test]
    fn skipped_spins_beside_siblings(lists in waiting_beside()) {
        prop_assert_eq!(waited(3, &lists).0, waited(0, &lists).0);
    }
}

#[test]
fn spins_are_skipped_at_all() {
    let lists = [vec![Await(FLAG, 1, 10)], vec![Compute(50_000), AtomicStore(FLAG, 1)]];
    let (results, skipped) = waited(3, &lists);
    assert!(skipped > 700_000, "{skipped} ticks of 800,000");
    assert_eq!(results, waited(0, &lists).0);
}
