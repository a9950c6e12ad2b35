// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each kind of event does to values, and what its effects say.
use super::*;
use crate::Turn;
use crate::testing::{Bench, World, machine};
use corefold_model::{Class, ticks};

const X: u64 = 0x1000;
const Y: u64 = 0x2000;
const MEMORY: u64 = ticks(180);

/// All CPUs but the last have read X and Y, and nothing is under way.
fn shared() -> Bench {
    let mut bench = Bench::new(&machine());
    for cpu in 0..7 {
        bench.runs(cpu, bench.clock() + ticks(1000));
        bench.does(What::AtomicLoad, X);
        bench.does(What::AtomicLoad, Y);
        bench.sim.model.drain(cpu as u32, bench.clock() + ticks(1000));
        while bench.sim.model.take_blame(cpu as u32).is_some() {}
    }
    bench.runs(0, bench.clock() + ticks(1000));
    bench
}

/// As another CPU sees it now.
fn seen(bench: &mut Bench, address: u64) -> u64 {
    let (cpu, clock) = (bench.sim.cpu, bench.clock());
    bench.runs(7, clock);
    let value = bench.world.read(address, 8);
    bench.runs(cpu, clock);
    value
}

#[test]
fn a_load_finds_what_memory_holds() {
    let mut bench = shared();
    bench.world.write(X, 8, 0x1_0000_0007);
    let effects = bench.does(What::AtomicLoad, X);
    assert!(effects.has(Effects::VALUE) && effects.value == 0x1_0000_0007);
    let mut half = Event::new(What::AtomicLoad, 0, X, 4, 0);
    assert_eq!(bench.sim.event(&bench.lease, &mut bench.world, &mut half).value, 7);
}

#[test]
fn a_plain_load_of_a_line_that_nobody_shares_only_takes_time() {
    let mut bench = Bench::new(&machine());
    let effects = bench.does(What::Load, X);
    assert!(effects.has(Effects::ACCESSED) && !effects.has(Effects::VALUE));
    assert_eq!(effects.outcome.transfer, Some(Class::Memory));
    assert_eq!(crate::Tags::tag(&mut bench.world, X).get(), Tag::private_clean(0));
    let again = bench.does(What::Load, X);
    assert!(!again.has(Effects::ACCESSED), "its own line: as under a lease");
}

#[test]
fn a_plain_store_to_a_modified_line_of_its_own_takes_neither_time_nor_room() {
    let mut bench = shared();
    bench.does(What::Store, 0x5000);
    bench.lease.spend(ticks(1000));
    for place in [X, Y, X + 8, Y + 8] {
        bench.does(What::AtomicStore(1), place);
    }
    let clock = bench.clock();
    let effects = bench.does(What::Store, 0x5000);
    assert_eq!((bench.clock(), effects.value, effects.has(Effects::ACCESSED)), (clock, clock, false));
    assert_eq!(bench.sim.stores.youngest(0).map(|store| store.address), Some(Y + 8), "it waits behind none");
}

#[test]
fn an_atomic_store_is_seen_by_its_cpu_at_once_and_by_others_when_its_line_is_there() {
    let mut bench = shared();
    let effects = bench.does(What::AtomicStore(5), X);
    assert!(effects.outcome.effect > bench.clock());
    assert_eq!(bench.does(What::AtomicLoad, X).value, 5);
    assert_eq!(seen(&mut bench, X), 0);
    bench.lease.clock.set(effects.outcome.effect);
    bench.does(What::AtomicLoad, Y);
    assert_eq!(seen(&mut bench, X), 5);
}

#[test]
fn a_plain_store_waits_behind_older_stores_of_its_cpu() {
    let mut bench = shared();
    let first = bench.does(What::AtomicStore(5), X);
    bench.does(What::Load, 0x5000);
    bench.lease.spend(ticks(1));
    let effects = bench.does(What::Store, 0x5000);
    bench.world.write(0x5000, 8, 6);
    assert!(effects.value >= first.outcome.effect, "others see it no sooner");
    assert_eq!((bench.world.read(0x5000, 8), seen(&mut bench, 0x5000)), (6, 0));
}

#[test]
fn a_plain_store_with_nothing_before_it_is_seen_at_once() {
    let mut bench = shared();
    let effects = bench.does(What::Store, X);
    bench.world.write(X, 8, 6);
    assert_eq!((effects.value, seen(&mut bench, X)), (bench.clock(), 6));
}

#[test]
fn a_store_says_whether_its_line_had_a_record() {
    let mut bench = shared();
    assert!(!bench.does(What::Store, X).has(Effects::WAS_SHARED), "it was only read");
    bench.runs(1, bench.clock() + ticks(1000));
    assert!(bench.does(What::Store, X).has(Effects::WAS_SHARED));
}

#[test]
fn the_access_by_which_a_line_gets_its_record_says_so() {
    let mut bench = shared();
    let effects = bench.does(What::AtomicStore(1), X);
    assert!(effects.has(Effects::SHARED) && effects.tag.record_index().is_some());
    assert!(!bench.does(What::AtomicLoad, X).has(Effects::SHARED));
}

#[test]
fn a_locked_operation_waits_for_the_stores_before_it() {
    let mut bench = shared();
    let clock = bench.clock();
    let effect = bench.does(What::AtomicStore(5), X).outcome.effect;
    let mut event = bench.event(What::Update, 0x6000);
    let effects = bench.sim.event(&bench.lease, &mut bench.world, &mut event);
    assert!(effects.has(Effects::WAITED) && !effects.has(Effects::OTHERS));
    let waits: Vec<_> = core::iter::from_fn(|| bench.sim.take_wait()).collect();
    assert!(waits.iter().all(|wait| wait.blame.address == X && wait.record.is_some()), "{waits:?}");
    assert_eq!(waits.iter().map(|wait| wait.blame.stall).sum::<u64>(), effect - clock);
    assert!(bench.clock() >= effect + MEMORY && !bench.sim.stores.any_of(0));
}

#[test]
fn a_fence_waits_for_stores_and_loads_and_takes_its_time() {
    let mut bench = shared();
    let start = bench.clock();
    bench.does(What::Load, 0x5000);
    assert_eq!(bench.clock(), start, "the CPU runs past a load");
    bench.does(What::Fence, 0);
    assert_eq!(bench.clock(), start + MEMORY + ticks(machine().core.fence));
    let effect = bench.does(What::AtomicStore(5), X).outcome.effect;
    bench.does(What::Fence, 0);
    assert_eq!((bench.clock(), bench.sim.stores.any_of(0)), (effect + ticks(machine().core.fence), false));
    let effect = bench.does(What::AtomicStore(6), X).outcome.effect.max(bench.clock());
    bench.does(What::LockedFence, 0);
    assert_eq!((bench.clock(), bench.sim.stores.any_of(0)), (effect + ticks(machine().core.rmw), false));
}

/// A part of a larger operation.
#[test]
fn a_timed_access_takes_the_time_of_one_and_touches_no_value() {
    for (kind, what) in
        [(Kind::AtomicStore, What::AtomicStore(9)), (Kind::Store, What::Store), (Kind::Rmw, What::Update)]
    {
        let (mut timed, mut whole) = (shared(), shared());
        let effects = timed.does(What::Timed(kind), X);
        let expected = whole.does(what, X).outcome;
        assert!(effects.has(Effects::ACCESSED) && !effects.has(Effects::VALUE));
        assert_eq!((effects.outcome.done, effects.outcome.effect), (expected.done, expected.effect), "{kind:?}");
        assert_eq!((timed.world.read(X, 8), timed.sim.stores.any_of(0)), (0, false));
    }
    let mut timed = shared();
    assert!(!timed.does(What::Timed(Kind::Load), X).has(Effects::VALUE), "as nobody looks at it");
}

/// An event is passed again as often as others come first, and does its access once.
#[test]
fn cpus_that_are_behind_go_before_an_access_that_they_could_observe() {
    let mut bench = shared();
    let clock = bench.clock();
    bench.sim.clocks.push(clock - 1, 1);
    let mut event = bench.event(What::AtomicStore(5), X);
    let effects = bench.sim.event(&bench.lease, &mut bench.world, &mut event);
    assert!(effects.has(Effects::OTHERS) && !effects.has(Effects::ACCESSED));
    assert_eq!(bench.sim.next(clock), Turn::Of(1, clock - 1));
    bench.runs(1, clock - 1);
    bench.does(What::Store, X);
    bench.world.write(X, 8, 3);
    bench.runs(0, clock);
    bench.sim.clocks.pop();
    let effects = bench.sim.event(&bench.lease, &mut bench.world, &mut event);
    assert!(effects.has(Effects::ACCESSED) && !effects.has(Effects::OTHERS));
    assert_eq!((bench.world.read(X, 8), seen(&mut bench, X)), (5, 3));
}

#[test]
fn what_is_private_waits_for_nobody() {
    let mut bench = Bench::new(&machine());
    bench.lease.clock.set(100);
    bench.sim.clocks.push(5, 1);
    assert!(bench.does(What::Store, X).has(Effects::ACCESSED));
}

/// Another CPU takes the line while an older store of the same CPU holds the store up.
#[test]
fn a_store_whose_line_was_taken_asks_for_it_again() {
    let mut bench = shared();
    bench.does(What::Store, Y);
    bench.lease.spend(ticks(1000));
    let clock = bench.clock();
    let first = bench.does(What::AtomicStore(2), 0x7000).outcome.effect;
    let due = bench.does(What::AtomicStore(3), Y).outcome.effect;
    assert_eq!((first, due), (clock + MEMORY, clock + MEMORY), "its own line is here");
    bench.runs(1, clock + ticks(10));
    bench.does(What::Update, Y);
    bench.world.write(Y, 8, 8);
    bench.runs(2, due - 1);
    assert!(bench.sim.take_retry().is_none());
    assert!(bench.runs(2, due).has(Effects::RETRIED));
    let retry = bench.sim.take_retry().expect("of the second store");
    assert!(retry.access.address == Y && retry.record.is_some() && bench.sim.take_retry().is_none());
    bench.runs(2, retry.outcome.effect - 1);
    assert_eq!((bench.world.read(0x7000, 8), bench.world.read(Y, 8)), (2, 8));
    bench.runs(2, retry.outcome.effect);
    assert_eq!(bench.world.read(Y, 8), 3, "it comes after the other CPU's");
}

#[test]
fn while_a_store_waits_on_a_line_that_line_is_not_leased() {
    let mut bench = Bench::new(&machine());
    bench.does(What::AtomicStore(1), X);
    assert!(bench.sim.stores.any_of(0), "the line comes from memory");
    let tag = |world: &mut World| crate::Tags::tag(world, X).get();
    assert_eq!(tag(&mut bench.world), Tag::private_clean(0));
    bench.does(What::Fence, 0);
    bench.does(What::Store, X);
    assert_eq!(tag(&mut bench.world), Tag::private_dirty(0));
}
