// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines that leave the first level, pairs of lines, and what an access has to wait for.
use super::*;
use crate::What;
use crate::testing::{Bench, machine, with_small_caches};
use corefold_model::{Class, Core, Machine, ticks};

/// Lines of one page: a set of the small first level has two ways, and there is one.
const fn line(number: u64) -> u64 {
    0x1000 + number * 64
}

fn without_pairs() -> Bench {
    let machine = with_small_caches();
    Bench::new(&Machine { core: Core { adjacent_line: false, ..machine.core }, ..machine })
}

impl Bench {
    fn tag(&mut self, address: u64) -> Tag {
        self.world.tag(address).get()
    }

    fn refill(&mut self, address: u64, kind: Kind) -> (bool, Effects) {
        let access = Access { cpu: self.sim.cpu as u32, address, size: 8, kind, origin: 0 };
        let mut effects = Effects::default();
        (self.sim.refill(&self.lease, &mut self.world, &access, &mut effects), effects)
    }

    /// CPU 0 brings these lines, one after the other.
    fn brings(&mut self, lines: &[u64]) {
        for number in lines {
            self.does(What::Store, line(*number));
            self.lease.spend(ticks(1000));
        }
    }
}

#[test]
fn a_line_that_leaves_the_first_level_is_no_more_leased() {
    let mut bench = without_pairs();
    bench.brings(&[0, 1]);
    assert_eq!(bench.tag(line(0)), Tag::private_dirty(0));
    bench.brings(&[2]);
    assert!(bench.tag(line(0)).is_evicted_of(Tag::private_clean(0).bits()));
    assert_eq!(bench.tag(line(1)), Tag::private_dirty(0));
}

#[test]
fn a_refill_brings_the_line_from_the_second_level() {
    let mut bench = without_pairs();
    bench.brings(&[0, 1, 2]);
    let clock = bench.clock();
    let (served, effects) = bench.refill(line(0), Kind::Load);
    assert!(served && effects.has(Effects::ACCESSED));
    assert_eq!((bench.clock(), effects.outcome.transfer), (clock, None), "the CPU runs past it");
    assert!(bench.tag(line(0)).is_below_of(Tag::private_clean(0).bits()), "the second level has what was stored");
    assert!(bench.tag(line(1)).is_evicted_of(Tag::private_clean(0).bits()), "it made room");
    bench.does(What::Fence, 0);
    assert_eq!(bench.clock(), clock + ticks(14 + machine().core.fence), "what the second level takes");
}

/// As an event: the same outcome, tags and clock, also where it has to wait for one of the loads under way.
#[test]
fn a_refill_is_a_short_way_to_what_the_event_does() {
    let kinds = [(What::Load, Kind::Load), (What::Store, Kind::Store)];
    let cases = kinds.into_iter().flat_map(|kind| [3, 5, 14].map(|lines| (kind, lines)));
    for (((what, kind), lines), loads) in cases.flat_map(|case| [0, 3].map(|loads| (case, loads))) {
        let (mut short, mut event) = (without_pairs(), without_pairs());
        for bench in [&mut short, &mut event] {
            bench.brings(&(0..lines).collect::<Vec<_>>());
            for address in (0..loads).map(|number| 0x9000 + number * 64) {
                bench.world.write(address, 8, 1 << 40); // no pointer to here
                bench.does(What::Load, address);
            }
        }
        let begin = short.clock();
        let (served, effects) = short.refill(line(0), kind);
        let expected = event.does(what, line(0));
        assert!(served);
        assert_eq!((effects.outcome.done, effects.outcome.effect), (expected.outcome.done, expected.outcome.effect));
        assert_eq!((effects.outcome.transfer, effects.tag), (expected.outcome.transfer, expected.tag));
        assert_eq!((short.clock(), short.clock() > begin), (event.clock(), kind == Kind::Load && loads > 0));
        let tags = |bench: &mut Bench| (0..14).map(|number| bench.tag(line(number))).collect::<Vec<_>>();
        assert_eq!(tags(&mut short), tags(&mut event), "{lines:?}");
    }
}

#[test]
fn only_plain_accesses_to_lines_of_its_own_that_have_left_are_refilled() {
    let mut bench = without_pairs();
    bench.brings(&[0, 1, 2]);
    assert!(!bench.refill(line(2), Kind::Load).0, "it is in the first level");
    assert!(!bench.refill(line(9), Kind::Load).0, "nobody has it");
    bench.runs(1, bench.clock());
    assert!(!bench.refill(line(0), Kind::Load).0, "another CPU has it");
    bench.runs(0, bench.clock());
    let clock = bench.clock();
    bench.sim.cpus[0].run_ahead.waited(100, 50, clock);
    assert!(!bench.refill(line(0), Kind::Load).0, "the core is ahead");
    bench.sim.cpus[0].run_ahead.lost();
    bench.does(What::AtomicStore(1), 0x9000);
    assert!(!bench.refill(line(0), Kind::Store).0, "a store of its own waits");
    bench.does(What::Fence, 0);
    assert!(bench.refill(line(0), Kind::Store).0);
}

#[test]
fn a_miss_brings_both_lines_of_a_pair() {
    let mut bench = Bench::new(&with_small_caches());
    bench.does(What::Load, line(2));
    assert_eq!((bench.tag(line(2)), bench.tag(line(3))), (Tag::private_clean(0), Tag::private_clean(0)));
    assert!(bench.tag(line(1)).is_untouched() && bench.tag(line(4)).is_untouched(), "pairs are aligned");
    assert!(without_pairs().does(What::Load, line(2)).has(Effects::ACCESSED));
    let mut alone = without_pairs();
    alone.does(What::Load, line(2));
    assert!(alone.tag(line(3)).is_untouched());
}

#[test]
fn a_prefetched_pair_shows_what_its_owner_stored_before() {
    let mut bench = Bench::new(&with_small_caches());
    bench.does(What::Store, line(3));
    bench.lease.spend(ticks(1000));
    bench.does(What::AtomicStore(1), 0x9000);
    assert!(bench.sim.stores.any_of(0));
    bench.runs(1, bench.clock() + ticks(1));
    // Its pair is private to CPU 0 as well; the next one's is not.
    bench.does(What::AtomicLoad, line(2));
    assert!(!bench.sim.stores.any_of(0), "the owner's older stores commit first");
}

#[test]
fn a_prefetch_is_a_request_to_those_that_watch_the_line() {
    let machine = with_small_caches();
    let endless = Machine { caches: corefold_model::Caches::ENDLESS, ..machine };
    let mut bench = Bench::new(&endless);
    bench.does(What::AtomicLoad, line(3));
    let clock = bench.clock() + ticks(1000);
    bench.lease.clock.set(bench.sim.model.drain(0, clock));
    let mut spin = crate::Spin { period: 10, lines: Default::default(), read: Default::default() };
    spin.lines[0].line = line(3);
    assert!(bench.sim.skip(&bench.lease, &mut bench.world, spin, 100_000));
    let (from, until) = (bench.sim.skips.since(0).expect("it skips"), bench.clock());
    bench.sim.cpus[0].clock = until;
    bench.sim.clocks.push(until, 0);
    bench.runs(1, from + 105);
    bench.sim.clocks.pop();
    bench.world.tag(line(2)).set(Tag::UNTOUCHED);
    assert!(bench.does(What::Load, line(2)).has(Effects::LIMIT));
    assert_eq!(bench.sim.cpus[0].clock, from + 110, "it looks again");
}

/// The load under way delivers an address near that of the next access: a pointer.
#[test]
fn an_access_waits_for_the_load_that_delivers_its_address() {
    for (pointer, waits) in [(0x8010, true), (0x8fff, true), (0xa000, false), (0, false)] {
        let mut bench = Bench::new(&machine());
        bench.world.write(line(0), 8, pointer);
        let first = bench.does(What::Load, line(0)).outcome;
        let clock = bench.clock();
        let second = bench.does(What::Load, 0x8000);
        let arrival = clock + ticks(180);
        assert_eq!(bench.clock(), if waits { arrival } else { clock }, "{pointer:x}, {first:?}");
        assert_eq!(second.has(Effects::WAITED), waits);
    }
}

/// A layout on trial: the program's pointers lead to where the bytes are, not to where they are simulated.
#[test]
fn an_access_that_is_simulated_elsewhere_waits_for_its_address_too() {
    let mut bench = Bench::new(&machine());
    bench.world.elsewhere = Some((0x70_0000, 0x8000));
    bench.world.write(line(0), 8, 0x8010);
    bench.does(What::Load, line(0));
    let arrival = bench.clock() + ticks(180);
    assert!(bench.does(What::Load, 0x70_0000).has(Effects::WAITED));
    assert_eq!(bench.clock(), arrival);
}

#[test]
fn of_several_loads_that_may_deliver_the_address_the_last_is_awaited() {
    let mut bench = Bench::new(&machine());
    for (number, value) in [(0, 0x8010), (1, 0x8020), (2, 5)] {
        bench.world.write(line(number), 8, value);
        bench.does(What::Load, line(number));
        bench.lease.spend(ticks(10));
    }
    bench.does(What::Load, 0x8000);
    assert_eq!(bench.clock(), ticks(10 + 180), "the second's line");
}

#[test]
fn a_cpu_waits_for_room_in_its_store_buffer() {
    let mut bench = Bench::new(&machine());
    for number in 0..4 {
        assert!(!bench.does(What::AtomicStore(1), line(number)).has(Effects::WAITED));
    }
    assert_eq!(bench.clock(), 0);
    assert!(bench.does(What::AtomicStore(1), line(4)).has(Effects::WAITED));
    let wait = bench.sim.take_wait().expect("for the oldest");
    assert_eq!((bench.clock(), wait.blame.address, wait.blame.stall), (ticks(180), line(0), ticks(180)));
}

#[test]
fn locked_operations_wait_for_their_lines_and_the_core_is_ahead_then() {
    let mut bench = Bench::new(&machine());
    let effects = bench.does(What::Update, line(0));
    assert_eq!((effects.outcome.transfer, bench.clock()), (Some(Class::Memory), ticks(180 + 20)));
    assert!(effects.has(Effects::LIMIT) && bench.sim.cpus[0].run_ahead.is_ahead());
    bench.does(What::Update, line(0));
    assert_eq!(bench.clock(), ticks(180 + 20 + 20), "the line is here");
}
