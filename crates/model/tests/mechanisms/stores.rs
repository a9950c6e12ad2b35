// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store buffer.
use crate::lab::{Lab, NEAR, lab};
use corefold_model::{Access, Kind, ticks};

#[test]
fn a_store_buffer_hides_transfers_of_plain_stores() {
    let cost = |mut lab: Lab| {
        lab.cycles(NEAR, 0, Kind::Store);
        lab.rest();
        let begun = lab.clocks[0];
        (lab.access(0, 0, Kind::Store).done - begun) / ticks(1)
    };
    assert_eq!((cost(lab(|_| ())), cost(lab(|m| m.core.store_buffer = 0))), (0, 60));
}

#[test]
fn a_store_buffer_forwards_merges_and_is_drained_by_atomics() {
    let mut lab = lab(|_| ());
    assert_eq!(lab.access(0, 0, Kind::Store).done, 0);
    // The second store to the line merges, a load of its bytes is served at once.
    assert_eq!(lab.access(0, 8, Kind::Store).done, 0);
    assert_eq!(lab.access(0, 8, Kind::LoadAwaited).done, 0);
    // An update elsewhere waits for the line of both: 180 cycles, and for its own.
    assert_eq!(lab.access(0, 4096, Kind::Rmw).done, ticks(180 + 180 + 20));
}

/// Each store takes an entry of its own, also those to one line, which commit together when it arrives.
#[test]
fn stores_to_an_awaited_line_fill_the_store_buffer() {
    let mut lab = lab(|_| ());
    assert!((0..4).all(|word| lab.access(0, 8 * word, Kind::Store).done == 0), "as many as there are entries");
    let fifth = lab.access(0, 32, Kind::Store);
    assert_eq!((fifth.done, fifth.effect), (ticks(180), ticks(180)), "waits for the line");
    let blame = lab.model.take_blame(0).expect("the wait of the fifth");
    assert_eq!((blame.address, blame.stall), (0, ticks(180)));
    // Then all are gone.
    lab.rest();
    let clock = lab.clocks[0];
    assert_eq!(lab.access(0, 0, Kind::Store).done, clock);
}

/// CPU 4 is the other hardware thread of CPU 0's core.
#[test]
fn siblings_take_turns_at_locked_operations() {
    let begins = |other: u32, percent: u32| {
        let mut lab = lab(|m| m.core.smt_percent = percent);
        [(0, 0), (other, 5), (0, 100)].map(|(cpu, now)| lab.model.locked(cpu, ticks(now)) / ticks(1))
    };
    assert_eq!((begins(4, 125), begins(NEAR, 125), begins(4, 200)), ([0, 20, 100], [0, 5, 100], [0, 5, 100]));
}

#[test]
fn a_store_commits_after_the_loads_before_it_though_another_waits_for_the_same_line() {
    let mut lab = lab(|_| ());
    lab.access(0, 0, Kind::Store);
    lab.clocks[0] = ticks(10);
    lab.access(0, 4096, Kind::Load);
    assert_eq!(lab.access(0, 8, Kind::Store).effect, ticks(10 + 180));
}

/// They leave one by one, a cycle each. Until then loads of their bytes have them, though another CPU has taken the line.
#[test]
fn stores_forward_until_they_have_left() {
    let cost = |after: u32| {
        let mut lab = lab(|m| m.core.store_buffer = 64);
        [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Rmw));
        lab.rest();
        let asked = lab.clocks[0];
        (0..64).for_each(|_| _ = lab.access(0, 0, Kind::Store));
        lab.clocks[NEAR as usize] = asked + ticks(50);
        lab.access(NEAR, 0, Kind::Rmw);
        let arrived = lab.access(0, 0, Kind::Store).done;
        assert_eq!(arrived, asked + ticks(60));
        lab.clocks[0] = lab.model.retire(0, arrived + ticks(after));
        (lab.access(0, 0, Kind::LoadAwaited).done - arrived) / ticks(1) - u64::from(after)
    };
    // The other's snoop comes after 30 cycles, and the last of 65 stores leaves after as many.
    assert_eq!([0, 20, 40, 65].map(cost), [0; 4]);
    assert_eq!(cost(66), 60);
}

/// A store to a line that is on its way to the CPU's sibling waits for it in the store buffer.
#[test]
fn a_store_does_not_wait_for_a_line_that_a_sibling_awaits() {
    let mut lab = lab(|_| ());
    [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Rmw));
    lab.rest();
    let asked = lab.clocks[0];
    let first = lab.access(0, 0, Kind::Store);
    // The line has left its owner by then.
    lab.clocks[4] = asked + ticks(50);
    let second = lab.access(4, 8, Kind::Store);
    assert_eq!((first.effect, second.effect), (asked + ticks(60), asked + ticks(60)));
    assert_eq!((second.done, second.transfer), (asked + ticks(50), None));
}

#[test]
fn a_store_commits_after_the_loads_and_the_stores_before_it() {
    let mut lab = lab(|_| ());
    lab.access(0, 0, Kind::AtomicStore);
    lab.access(NEAR, 4096, Kind::Store);
    lab.rest();
    let begun = lab.clocks[0];
    lab.access(0, 4096, Kind::Load);
    // Its line is here, and the load's 60 cycles away.
    assert_eq!(lab.access(0, 0, Kind::AtomicStore).effect - begun, ticks(60));
    lab.rest();
    let begun = lab.clocks[0];
    lab.access(0, 8192, Kind::Store);
    assert_eq!(lab.access(0, 0, Kind::AtomicStore).effect - begun, ticks(180));
    // One to the line that is waited for, but behind the other: it does not overtake it.
    assert_eq!(lab.access(0, 8200, Kind::AtomicStore).effect - begun, ticks(180));
}

#[test]
fn a_line_that_is_lost_before_its_store_commits_is_asked_for_again() {
    let mut lab = lab(|_| ());
    for cpu in [0, NEAR, 0] {
        lab.access(cpu, 0, Kind::AtomicStore);
        lab.rest();
    }
    let begun = lab.clocks[0];
    lab.access(0, 8192, Kind::Store);
    let commit = lab.access(0, 0, Kind::AtomicStore).effect;
    assert_eq!(commit - begun, ticks(180));
    let tag = lab.tags[&0];
    assert!(lab.model.commits(tag, 0, begun), "nobody has asked for the line");
    lab.access(NEAR, 0, Kind::Load);
    assert!(!lab.model.commits(tag, 0, commit), "the neighbour has read the line");
    let again = Access { cpu: 0, address: 0, size: 8, kind: Kind::AtomicStore, origin: 0 };
    assert_eq!(lab.model.ask_again(tag, &again, commit).effect, commit + ticks(60));
    assert!(lab.model.commits(tag, 0, commit + ticks(60)));
}

/// CPU 0 increments a word of a line that another core has taken: its second load gets what it stored itself, or waits for
/// what the first will deliver.
#[test]
fn what_another_core_has_taken_is_forwarded_where_the_profile_says_so() {
    let second_load = |forwards_lost| {
        let mut lab = lab(|m| m.core.forwards_lost = forwards_lost);
        [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Rmw));
        lab.rest();
        let begun = lab.clocks[0];
        lab.access(0, 0, Kind::Load);
        lab.access(0, 0, Kind::Store);
        (lab.access(0, 0, Kind::Load).done - begun) / ticks(1)
    };
    assert_eq!((second_load(true), second_load(false)), (0, 60));
}

/// The same where the line is lost as soon as the store is made, which has hit.
#[test]
fn what_has_just_been_stored_is_forwarded_where_the_profile_says_so() {
    let load = |forwards_lost| {
        let mut lab = lab(|m| (m.core.forwards_lost, m.core.rmw_held) = (forwards_lost, 10));
        [NEAR, 0].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Rmw));
        lab.rest();
        let begun = lab.clocks[0];
        lab.clocks[NEAR as usize] = begun;
        lab.access(NEAR, 0, Kind::Rmw);
        // The snoop comes after 38 cycles.
        lab.clocks[0] = begun + ticks(37);
        lab.access(0, 0, Kind::Store);
        lab.clocks[0] = begun + ticks(40);
        (lab.access(0, 0, Kind::LoadAwaited).done - begun) / ticks(1)
    };
    assert_eq!(load(true), 40);
    assert!(load(false) > 90, "{}", load(false));
}

/// It commits two transfers after the load, as the load brings a copy that is not to be written to; another line's does not wait.
#[test]
fn a_store_to_a_line_that_a_load_is_bringing_requests_it_when_the_load_is_done() {
    let effect = |stored: u64, migratory| {
        let mut lab = lab(|m| m.latency.migratory = migratory);
        for line in [0, 4096] {
            [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, line, Kind::Rmw));
        }
        lab.rest();
        let begun = lab.clocks[0];
        lab.access(0, 0, Kind::Load);
        (lab.access(0, stored, Kind::AtomicStore).effect - begun) / ticks(1)
    };
    assert_eq!((effect(0, false), effect(0, true), effect(4096, false)), (120, 60, 60));
}
