// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches of finite size, and pairs of lines.
use crate::lab::{Lab, NEAR, lab};
use corefold_model::{Access, Cache, Caches, Class, Kind, Machine, Tag, ticks};

#[test]
fn a_miss_brings_the_other_line_of_its_pair() {
    let pairs = |m: &mut Machine| m.core.adjacent_line = true;
    for (change, expected) in [(pairs as fn(&mut Machine), 0), (|_: &mut Machine| (), 180)] {
        let mut lab = lab(change);
        lab.cycles(0, 128, Kind::LoadAwaited);
        assert_eq!(lab.cycles(0, 192, Kind::LoadAwaited), expected, "the pair");
        assert_eq!(lab.cycles(0, 256, Kind::LoadAwaited), 180, "not of the pair");
    }
}

/// Two CPUs write to lines of their own, which are one pair.
#[test]
fn a_pair_can_be_shared_falsely() {
    let transfers = |mut lab: Lab| {
        for _ in 0..100 {
            for (cpu, line) in [(0, 0), (NEAR, 64)] {
                lab.cycles(cpu, line, Kind::Store);
                // Something else that misses, of the same pair.
                lab.cycles(cpu, line, Kind::LoadAwaited);
            }
            lab.rest();
        }
        lab.clocks[0] = lab.clocks[0].max(lab.clocks[1]);
        (0..2).map(|_| lab.cycles(0, 0, Kind::Rmw)).max().unwrap()
    };
    let (with, without) = (transfers(lab(|m| m.core.adjacent_line = true)), transfers(lab(|_| ())));
    assert!(without == 20 && with >= without, "{with} with, {without} without");
}

/// 8 lines in the first level, 32 in the second, 128 in the third.
fn small_caches(m: &mut Machine) {
    let cache = |lines: u64, latency| Cache { bytes: lines * 64, ways: 4, latency };
    m.caches = Caches { l1: cache(8, 0), l2: cache(32, 10), l3: cache(128, 30), ..Caches::ENDLESS };
}

#[test]
fn what_does_not_fit_comes_from_the_next_level() {
    for (lines, class, cycles) in
        [(6, None, 0), (20, None, 10), (100, Some(Class::LocalClean), 30), (1000, Some(Class::Memory), 180)]
    {
        let mut lab = lab(small_caches);
        (0..3 * lines).for_each(|i| _ = lab.cycles(0, i % lines * 64, Kind::LoadAwaited));
        let last = lab.access(0, 0, Kind::LoadAwaited);
        assert_eq!((last.transfer, last.stall / ticks(1)), (class, cycles), "{lines} lines");
    }
    let mut endless = lab(|_| ());
    (0..3000).for_each(|i| _ = endless.cycles(0, i % 1000 * 64, Kind::LoadAwaited));
    assert_eq!(endless.cycles(0, 0, Kind::LoadAwaited), 0);
}

/// The engine's short way to a line of the CPU's own does what the long one does.
#[test]
fn a_line_of_ones_own_is_fetched_as_any_other() {
    let (mut long, mut short) = (lab(small_caches), lab(small_caches));
    let mut fetched = 0;
    for i in 0..3000u64 {
        let (line, kind) = (i * i % 200, if i % 3 == 0 { Kind::Store } else { Kind::Load });
        let tag = short.tags.entry(line).or_default();
        if tag.is_evicted_of(Tag::private_clean(0).bits()) {
            fetched += 1;
            let access = Access { cpu: 0, address: line * 64, size: 8, kind, origin: 0 };
            let now = short.model.retire(0, short.clocks[0]);
            let outcome = short.model.fetch_own(tag, &access, now);
            short.clocks[0] = outcome.done;
            while let Some(evicted) = short.model.take_evicted() {
                short.model.evicted(0, kind, short.tags.get_mut(&(evicted / 64)).unwrap());
            }
            assert_eq!(outcome, long.access(0, line * 64, kind));
        } else {
            assert_eq!(short.access(0, line * 64, kind), long.access(0, line * 64, kind));
        }
    }
    assert!(fetched > 1000, "{fetched}");
    assert_eq!(short.tags, long.tags);
}

/// Cycles a line of many that do not wait for each other, over twice what the first level holds, again and again.
fn line_by_line(kinds: &[Kind], change: impl FnOnce(&mut Machine)) -> f64 {
    let mut lab = lab(|m| {
        small_caches(m);
        (m.core.misses, m.core.store_buffer, m.caches.line, m.caches.stored_line) = (20, 40, 32, 48);
        change(m);
    });
    let pass = |lab: &mut Lab| {
        for kind in kinds {
            (0..16).for_each(|line| _ = lab.access(0, line * 64, *kind));
        }
    };
    (0..20).for_each(|_| pass(&mut lab));
    let begun = lab.clocks[0];
    (0..1000).for_each(|_| pass(&mut lab));
    (lab.clocks[0] - begun) as f64 / (ticks(1) * 16_000 * kinds.len() as u64) as f64
}

#[test]
fn the_second_level_sends_line_after_line_and_takes_back_modified_ones() {
    use Kind::{Load, Store};
    let near = |cycles: f64, expected: f64| assert!((cycles - expected).abs() < 0.05, "{cycles}, not {expected}");
    near(line_by_line(&[Load], |_| ()), 2.0);
    near(line_by_line(&[Store], |_| ()), 3.0 + 2.0);
    // Half of the lines that make room were modified, whoever brings another in their place.
    near(line_by_line(&[Load, Store], |_| ()), (2.0 + 3.0 + 2.0) / 2.0);
    for kinds in [&[Load][..], &[Store]] {
        assert!(line_by_line(kinds, |m| (m.caches.line, m.caches.stored_line) = (0, 0)) < 1.0);
        near(line_by_line(kinds, |m| m.caches.l1.bytes = 0), 0.0);
    }
}

/// What a CPU waits for that bandwidth does not make it run further past its loads.
#[test]
fn a_wait_for_the_second_level_is_paid_once() {
    let mut lab = lab(|m| {
        small_caches(m);
        (m.core.misses, m.caches.line) = (20, 64);
    });
    (0..20).for_each(|line| _ = lab.cycles(0, line * 64, Kind::Load));
    let begun = lab.clocks[0];
    lab.access(0, 0x10000, Kind::Load);
    // Lines of 4 cycles, of which 50 cycles' worth may be under way.
    (0..15).for_each(|line| _ = lab.access(0, line * 64, Kind::Load));
    assert!(lab.clocks[0] > begun + ticks(50), "no wait");
    assert!(lab.clocks[0] < begun + ticks(80), "the load from memory was waited for as well");
}

/// A line that a store modified and a load brought again is modified, and as it is below.
#[test]
fn only_what_was_modified_since_it_came_goes_back() {
    let mut lab = lab(|m| (small_caches(m), m.caches.line = 32).0);
    let pass = |lab: &mut Lab, kind| (0..16).for_each(|line| _ = lab.access(0, line * 64, kind));
    pass(&mut lab, Kind::Store);
    pass(&mut lab, Kind::LoadAwaited);
    let begun = lab.clocks[0];
    pass(&mut lab, Kind::LoadAwaited);
    assert_eq!((lab.clocks[0] - begun) / ticks(1), 16 * 10);
    lab.rest();
    assert!(lab.tags.values().all(|tag| tag.is_dirty()));
    assert_eq!(lab.access(NEAR, 0, Kind::LoadAwaited).transfer, Some(Class::LocalModified));
}

#[test]
fn without_a_first_level_the_second_holds_all() {
    for (lines, cycles) in [(20, 0), (100, 30)] {
        let mut lab = lab(|m| (small_caches(m), m.caches.l1.bytes = 0).0);
        (0..3 * lines).for_each(|i| _ = lab.cycles(0, i % lines * 64, Kind::LoadAwaited));
        assert_eq!(lab.cycles(0, 0, Kind::LoadAwaited), cycles, "{lines} lines");
    }
}

#[test]
fn a_line_that_its_owner_has_lost_is_not_taken_from_it() {
    for (others, expected) in [(0, 60), (60, 40), (1000, 180)] {
        let mut lab = lab(small_caches);
        lab.cycles(0, 0, Kind::Store);
        (1..=others).for_each(|i| _ = lab.cycles(0, i * 64, Kind::LoadAwaited));
        lab.rest();
        assert_eq!(lab.cycles(NEAR, 0, Kind::LoadAwaited), expected, "after {others} lines");
    }
}

#[test]
fn lines_that_all_read_and_lines_that_are_fought_for_run_out_of_caches_too() {
    for fought in [false, true] {
        let mut lab = lab(small_caches);
        for cpu in [0, NEAR, 0] {
            lab.cycles(cpu, 0, if fought { Kind::Rmw } else { Kind::LoadAwaited });
            lab.rest();
        }
        (1..1000).for_each(|i| _ = lab.cycles(0, i * 64, Kind::LoadAwaited));
        assert_eq!(lab.access(0, 0, Kind::LoadAwaited).transfer, Some(Class::Memory));
        assert_eq!(lab.access(0, 0, Kind::LoadAwaited).transfer, None);
    }
}

/// CPU 0 reads lines that another core has evicted to memory, which it has had to itself or as the last of several.
#[test]
fn what_its_owner_has_evicted_to_memory_takes_bandwidth() {
    let read = |pairs: bool, recorded: bool, bandwidth: u32| {
        let mut lab = lab(|m| {
            small_caches(m);
            (m.memory_bandwidth, m.core.adjacent_line) = (bandwidth, pairs);
            (m.core.misses, m.core.transfers) = (16, 16);
        });
        let lines = |step: u64| (0..2000 / step).map(move |line| line * step * 64);
        let kind = if recorded { Kind::Rmw } else { Kind::Store };
        for cpu in if recorded { vec![0, NEAR] } else { vec![NEAR] } {
            lines(1).for_each(|address| _ = lab.cycles(cpu, address, kind));
        }
        lab.rest();
        let begun = lab.clocks[0];
        lines(if pairs { 2 } else { 1 }).for_each(|address| _ = lab.access(0, address, Kind::Load));
        (lab.model.drain(0, lab.clocks[0]) - begun) / ticks(1)
    };
    // A line in 50 cycles, 2,000 lines.
    for (pairs, recorded) in [(false, false), (true, false), (false, true), (true, true)] {
        let (without, with) = (read(pairs, recorded, 0), read(pairs, recorded, 2560));
        assert!(without < 50_000 && (90_000..110_000).contains(&with), "{pairs} {recorded}: {without}, {with}");
    }
}

/// Whoever reads a line that is in no core's own caches any more has it alone, and tells nobody when it writes.
#[test]
fn what_its_owner_has_evicted_is_its_readers_alone() {
    // With a record, and without.
    for (before, kind) in [(&[0][..], Kind::Load), (&[0], Kind::Store), (&[NEAR, 0], Kind::Rmw)] {
        let write_takes = |others: u64| {
            let mut lab = lab(small_caches);
            before.iter().for_each(|cpu| _ = lab.cycles(*cpu, 0, kind));
            (1..=others).for_each(|line| _ = lab.cycles(0, line * 64, Kind::Load));
            lab.rest();
            lab.cycles(NEAR, 0, Kind::LoadAwaited);
            lab.cycles(NEAR, 0, Kind::Store)
        };
        assert_eq!((write_takes(0), write_takes(60)), (60, 0), "{kind:?}");
    }
}

/// Those who ask for such a line at once all get it from memory, and share it.
#[test]
fn nobody_goes_ahead_of_who_asked_for_a_line_that_no_core_has() {
    let mut lab = lab(|m| {
        small_caches(m);
        (m.sockets, m.sockets_per_group, m.cores_per_socket, m.cores_per_cluster) = (1, 1, 4, 4);
    });
    for line in 0..50 {
        let address = line << 20;
        [NEAR, 0].into_iter().for_each(|cpu| _ = lab.cycles(cpu, address, Kind::Rmw));
        (1..200).for_each(|other| _ = lab.cycles(0, address + other * 64, Kind::Load));
        lab.rest();
        let now = lab.clocks[0];
        let takes = [1, 2, 3].map(|cpu| (lab.access(cpu, address, Kind::LoadAwaited).done - now) / ticks(1));
        assert!(takes.into_iter().all(|takes| takes >= 180), "{takes:?}");
    }
}

/// A pair of lines is prefetched as it is read: what its owner has evicted is the reader's alone.
#[test]
fn what_comes_beside_an_evicted_line_is_its_readers_alone_too() {
    for before in [&[0][..], &[NEAR, 0]] {
        let mut lab = lab(|m| (small_caches(m), m.core.adjacent_line = true).0);
        let kind = if before.len() > 1 { Kind::Rmw } else { Kind::Store };
        for cpu in before {
            [0, 64].into_iter().for_each(|address| _ = lab.cycles(*cpu, address, kind));
        }
        (2..200).for_each(|line| _ = lab.cycles(0, line * 64, Kind::Load));
        lab.rest();
        lab.cycles(NEAR, 0, Kind::LoadAwaited);
        lab.rest();
        assert_eq!([0, 64].map(|address| lab.cycles(NEAR, address, Kind::Store)), [0, 0], "{kind:?}");
    }
}
