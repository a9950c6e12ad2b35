// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines that go from core to core.
use crate::common::machine;
use crate::lab::{Lab, NEAR, REMOTE, lab};
use corefold_model::{Access, Class, Kind, Machine, Model, Pair, Ticks, ticks};

#[test]
fn in_flight_the_owner_keeps_hitting_until_the_snoop_comes() {
    let (mut with, mut without) = (lab(|_| ()), lab(|m| (m.latency.request_percent, m.latency.snoop_percent) = (0, 0)));
    let (with, without) = (with.contended(&[0, NEAR], Kind::Rmw, 1000), without.contended(&[0, NEAR], Kind::Rmw, 1000));
    // A transfer is 60 cycles and an operation 20: one transfer an operation without, several per transfer with.
    assert!(without >= 75 && with < 45, "{with} with, {without} without");
}

/// A read that is queued takes no copy away, a write does, from its snoop on.
#[test]
fn a_copy_is_read_until_the_snoop_of_a_write_comes() {
    let mut lab = lab(|_| ());
    for cpu in [0, NEAR, REMOTE] {
        lab.access(cpu, 0, Kind::Rmw);
        lab.rest();
    }
    lab.access(0, 0, Kind::Load);
    lab.rest();
    let now = lab.clocks[0];
    let reads = |lab: &mut Lab, at: Ticks| lab.model.quiet_read(lab.tags[&0], 0, at);
    lab.access(NEAR, 0, Kind::Load);
    assert!(reads(&mut lab, now) && reads(&mut lab, now + ticks(10_000)), "a read is queued");
    assert_eq!(lab.model.quiet_until(lab.tags[&0], 0), Ticks::MAX);
    lab.access(REMOTE, 0, Kind::Rmw);
    let lost = lab.model.quiet_until(lab.tags[&0], 0);
    assert!(lost > now && lost < now + ticks(10_000), "{lost} after {now}");
    assert!(reads(&mut lab, lost - 1) && !reads(&mut lab, lost));
}

/// Four trips of 15 cycles: the line is handed on after the two of its data, when an operation of 5 is over.
#[test]
fn where_data_goes_by_way_of_the_home_the_next_snoop_is_right_behind_it() {
    let quarters = |m: &mut Machine| {
        (m.latency.request_percent, m.latency.snoop_percent, m.latency.data_by_home) = (25, 25, true);
        (m.sockets, m.sockets_per_group, m.cores_per_socket, m.cores_per_cluster) = (1, 1, 4, 4);
        (m.core.rmw, m.core.rmw_held) = (5, 5);
    };
    for cpus in [&[0, NEAR][..], &[0, 1, 2], &[0, 1, 2, 3]] {
        let each = lab(quarters).contended(cpus, Kind::Rmw, 1000);
        assert!((35..=37).contains(&each), "{each} cycles with {} CPUs", cpus.len());
        let waits = lab(|m| (quarters(m), m.latency.data_by_home = false).0).contended(cpus, Kind::Rmw, 1000);
        assert!(waits < 30, "the owner finishes several operations: {waits} cycles");
    }
    // From another cluster's cache it does not: the home waits until it has arrived.
    let between = |by_home: bool| {
        let mut lab = lab(|m| (quarters(m), m.cores_per_cluster = 1, m.latency.data_by_home = by_home).0);
        lab.contended(&[0, 1, 2], Kind::Rmw, 1000)
    };
    assert_eq!(between(true), between(false));
}

#[test]
fn requests_of_one_cluster_follow_each_other() {
    let by_home = |m: &mut Machine| {
        (m.latency.request_percent, m.latency.snoop_percent, m.latency.data_by_home) = (25, 25, true);
        (m.cores_per_socket, m.cores_per_cluster) = (4, 4);
    };
    let all: Vec<u32> = (0..8).collect();
    let (_, done) = lab(by_home).fought_for(&all, Kind::Rmw, 4000);
    let remote = done.iter().filter(|(_, class)| *class == Some(Class::RemoteModified)).count();
    // Four CPUs of a socket one after the other, then those of the other.
    assert!((900..=1400).contains(&remote), "{remote} of {} from the other socket", done.len());
    for cpu in all {
        let turns = done.iter().filter(|(who, _)| *who == cpu).count();
        assert!((400..=600).contains(&turns), "CPU {cpu}: {turns} of {}", done.len());
    }
}

/// CPU 0 takes copies away in the other socket, whose core reads the line back at once.
#[test]
fn an_upgrade_that_others_have_to_be_told_of_occupies_the_home_until_it_is_done() {
    let read_back = |by_home: bool| {
        let mut lab = lab(|m| {
            (m.latency.request_percent, m.latency.snoop_percent, m.latency.data_by_home) = (25, 25, by_home);
        });
        for (cpu, kind) in [(REMOTE, Kind::Rmw), (0, Kind::Rmw), (REMOTE, Kind::Rmw), (0, Kind::Load)] {
            lab.access(cpu, 0, kind);
            lab.rest();
        }
        let begun = lab.clocks[0];
        assert_eq!(lab.access(0, 0, Kind::Rmw).effect - begun, ticks(200));
        lab.clocks[REMOTE as usize] = begun + ticks(110);
        lab.access(REMOTE, 0, Kind::LoadAwaited).effect - begun
    };
    // From when the upgrade is done: the snoop, and half of 200 for the data.
    assert_eq!(read_back(false), ticks(200 + 50 + 100));
    assert_eq!(read_back(true), ticks(200 + 50 + 100), "the way is not within a cluster");
}

/// CPU 2 asks first, from the other socket; the snoop for it is still on its way when CPU 1 asks.
#[test]
fn whom_others_go_ahead_of_learns_that_its_line_comes_later() {
    let mut lab = lab(|m| (m.latency.request_percent, m.latency.snoop_percent) = (25, 25));
    for cpu in [REMOTE, 0] {
        lab.access(cpu, 0, Kind::Rmw);
        lab.rest();
    }
    let begun = lab.clocks[0];
    let told = lab.access(REMOTE, 0, Kind::Rmw).effect;
    assert_eq!(told - begun, ticks(200));
    lab.clocks[NEAR as usize] = begun + ticks(10);
    let ahead = lab.access(NEAR, 0, Kind::Rmw).effect;
    assert_eq!(ahead - begun, ticks(10 + 60));
    assert_eq!(lab.model.postponed(lab.tags[&0], NEAR, ahead), None);
    // From when CPU 1's operation of 20 cycles is over; half of 200 for the data.
    assert_eq!(lab.model.postponed(lab.tags[&0], REMOTE, told), None, "the snoop comes after that");
    lab.rest();
    let begun = lab.clocks[0];
    let told = lab.access(0, 0, Kind::Rmw).effect;
    assert_eq!(told - begun, ticks(200));
    lab.clocks[REMOTE as usize + 1] = begun + ticks(80);
    let ahead = lab.access(REMOTE + 1, 0, Kind::Rmw).effect;
    assert_eq!(ahead - begun, ticks(80 + 60));
    // The second thread of its core waits for the same request, and until the first is served.
    lab.clocks[4] = begun + ticks(81);
    let sibling = lab.access(4, 0, Kind::Rmw).effect;
    assert_eq!(lab.model.postponed(lab.tags[&0], 4, sibling.min(ahead)), Some(ahead + ticks(20 + 100 + 20)));
    let later = lab.model.postponed(lab.tags[&0], 0, told);
    assert_eq!(later, Some(ahead + ticks(20 + 100)));
    assert_eq!(lab.model.postponed(lab.tags[&0], 0, later.unwrap()), None);
    // Too late: the snoop is there.
    lab.rest();
    let begun = lab.clocks[0];
    let told = lab.access(REMOTE, 0, Kind::Rmw).effect;
    lab.clocks[NEAR as usize] = begun + ticks(90);
    assert!(lab.access(NEAR, 0, Kind::Rmw).effect > told);
}

/// An older store of the same CPU asks for its own line once more meanwhile.
#[test]
fn whom_others_go_ahead_of_learns_that_whatever_else_it_asks_for() {
    const OTHER: u64 = 640;
    let mut lab = lab(|m| {
        (m.latency.request_percent, m.latency.snoop_percent, m.latency.memory) = (25, 25, 270);
    });
    for (cpu, address) in [(0, OTHER), (REMOTE, OTHER), (0, 0), (REMOTE, 0)] {
        lab.access(cpu, address, Kind::Rmw);
        lab.rest();
    }
    let begun = lab.clocks[0];
    lab.access(0, 4096, Kind::Load);
    let told = lab.access(0, 0, Kind::LoadAwaited).done;
    lab.clocks[REMOTE as usize + 1] = begun + ticks(80);
    let ahead = lab.access(REMOTE + 1, 0, Kind::Rmw).effect;
    let store = Access { cpu: 0, address: OTHER, size: 8, kind: Kind::AtomicStore, origin: 0 };
    lab.model.ask_again(lab.tags[&(OTHER / 64)], &store, begun + ticks(90));
    let later = ahead + ticks(20 + 100);
    assert_eq!(lab.model.postponed(lab.tags[&0], 0, told), Some(later));
    assert_eq!(lab.model.retire(0, later), later, "that it waits is no part of its window for the load");
}

#[test]
fn halves_and_clusters_have_their_own_distances() {
    let big = |m: &mut Machine| {
        (m.sockets, m.sockets_per_group, m.cores_per_socket, m.cores_per_cluster) = (4, 2, 4, 2);
        m.latency.cluster = Pair { clean: 20, modified: 30 };
        m.latency.far = Pair { clean: 300, modified: 400 };
    };
    // Cores 0 and 1 are a cluster, 0 to 3 a socket, 0 to 7 a half.
    for (to, modified, clean) in [(1, 30, 20), (2, 60, 40), (4, 200, 150), (8, 400, 300)] {
        let mut lab = lab(big);
        lab.cycles(0, 0, Kind::Store);
        lab.rest();
        assert_eq!(lab.cycles(to, 0, Kind::LoadAwaited), modified, "CPU {to}");
        lab.cycles(0, 4096, Kind::Load);
        lab.rest();
        assert_eq!(lab.cycles(to, 4096, Kind::LoadAwaited), clean, "CPU {to}");
    }
    // Neighbours in one half, the line at home in the other.
    let mut lab = lab(big);
    lab.cycles(8, 64, Kind::Store);
    lab.rest();
    lab.cycles(0, 0, Kind::Store);
    lab.rest();
    assert_eq!(lab.cycles(4, 0, Kind::LoadAwaited), 400);
}

#[test]
fn requests_queue_at_a_hot_line() {
    // Three CPUs ask for the line at once: the last gets it after three transfers, or after one.
    let last = |change: fn(&mut Machine)| {
        let mut lab = lab(|m| {
            (m.sockets, m.sockets_per_group, m.cores_per_socket, m.cores_per_cluster) = (1, 1, 4, 4);
            change(m);
        });
        lab.cycles(0, 0, Kind::Store);
        lab.rest();
        let begun = lab.clocks[0];
        let done = [1, 2, 3].map(|cpu| lab.access(cpu, 0, Kind::Rmw).done);
        (done.into_iter().max().unwrap() - begun) / ticks(1)
    };
    let with = last(|m| m.latency.in_order = true);
    let without = last(|m| m.latency.queueing = false);
    assert!(with >= 150 && without == 80, "{with} with, {without} without");
}

#[test]
fn those_that_wait_for_a_line_are_served_in_no_particular_order() {
    // Three CPUs ask for a line again and again: how often is one served twice before both others were once?
    let overtakes = |in_order: bool| {
        let mut lab = lab(|m| {
            (m.sockets, m.sockets_per_group, m.cores_per_socket, m.cores_per_cluster) = (1, 1, 4, 4);
            m.latency.in_order = in_order;
        });
        let (_, done) = lab.fought_for(&[1, 2, 3], Kind::Rmw, 300);
        let cpus: Vec<u32> = done.iter().filter(|(_, class)| class.is_some()).map(|(cpu, _)| *cpu).collect();
        cpus.windows(3).filter(|served| served[0] == served[2]).count()
    };
    assert_eq!(overtakes(true), 0);
    let some = overtakes(false);
    assert!(some > 30, "{some} of 300");
}

#[test]
fn where_lines_migrate_a_load_takes_what_another_core_wrote() {
    // CPU 0 reads and then writes a line that its neighbour wrote; the neighbour reads it again.
    let cost = |migratory| {
        let mut lab = lab(|m| m.latency.migratory = migratory);
        for round in 0..4 {
            lab.cycles(NEAR, 0, Kind::Store);
            lab.rest();
            if round < 3 {
                lab.cycles(0, 0, Kind::Store);
                lab.rest();
            }
        }
        let read = lab.cycles(0, 0, Kind::LoadAwaited);
        lab.rest();
        let write = lab.cycles(0, 0, Kind::Store);
        (read, write)
    };
    assert_eq!((cost(false), cost(true)), ((60, 60), (60, 0)));
}

#[test]
fn a_transfer_takes_longer_or_shorter_by_the_spread() {
    // Two CPUs take a line from each other, each when the other is done.
    let cost = |spread| {
        let mut lab = lab(|m| m.latency.spread = spread);
        let mut taken = Vec::new();
        for i in 0..2000 {
            taken.push(lab.cycles(if i % 2 == 0 { 0 } else { NEAR }, 0, Kind::LoadAwaited));
            lab.cycles(if i % 2 == 0 { 0 } else { NEAR }, 0, Kind::AtomicStore);
            lab.rest();
        }
        let taken: Vec<f64> = taken.split_off(4).into_iter().map(|cycles| cycles as f64).collect();
        let mean = taken.iter().sum::<f64>() / taken.len() as f64;
        let variance = taken.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / taken.len() as f64;
        (mean, 100.0 * variance.sqrt() / mean)
    };
    assert_eq!(cost(0), (60.0, 0.0));
    let (mean, percent) = cost(10);
    assert!((mean - 60.0).abs() < 1.0 && (percent - 10.0).abs() < 1.0, "{mean} {percent}");
}

#[test]
fn the_variation_of_a_lines_transfers_is_its_own() {
    // Two CPUs take a line from each other; two others take another one so many times meanwhile.
    let times = |others: u64| {
        let mut lab = lab(|m| m.latency.spread = 10);
        let mut taken = Vec::new();
        for i in 0..100u64 {
            taken.push(lab.cycles(if i % 2 == 0 { 0 } else { NEAR }, 0, Kind::Rmw));
            for k in 0..if i == 10 { others } else { 1 } {
                lab.cycles(if (i + k) % 2 == 0 { REMOTE } else { REMOTE + 1 }, 4096, Kind::Rmw);
                // The same CPUs, another line.
                lab.cycles(if (i + k) % 2 == 0 { 0 } else { NEAR }, 8192, Kind::Rmw);
            }
            lab.rest();
        }
        taken
    };
    let base = times(1);
    assert!(base[10..].iter().any(|time| *time != base[9]), "{base:?}");
    for others in [0, 2, 9] {
        assert_eq!(times(others), base, "{others}");
    }
}

#[test]
fn a_locked_bus_holds_up_what_leaves_other_cores_and_nothing_else() {
    let mut lab = lab(|_| ());
    lab.cycles(NEAR, 0, Kind::Store);
    lab.cycles(REMOTE, 4096, Kind::Store);
    lab.rest();
    let begun = lab.clocks[0];
    assert_eq!(lab.model.lock_bus(begun), begun + ticks(1000));
    assert_eq!(lab.cycles(NEAR, 0, Kind::LoadAwaited), 0, "its own line");
    assert_eq!(lab.cycles(NEAR, 4096, Kind::LoadAwaited), 1000 + 200, "another's");
    assert_eq!(lab.cycles(0, 8192, Kind::LoadAwaited), 1000 + 180, "memory");
    assert_eq!(lab.model.lock_bus(begun + ticks(400)), begun + ticks(2000), "one lock after the other");
    lab.rest();
    assert_eq!(lab.cycles(REMOTE, 4096, Kind::Store), 200, "it is over");
}

/// Hits of the core that had the line before do not make it private to the next.
#[test]
fn a_line_is_private_again_after_hits_of_its_owner_alone() {
    let is_private_after = |hits: usize| {
        let mut lab = lab(|_| ());
        [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Load));
        lab.cycles(0, 0, Kind::Store);
        lab.cycles(NEAR, 0, Kind::Store);
        lab.rest();
        // Another asks, and until it is served the owner hits.
        lab.clocks[0] = lab.clocks[NEAR as usize];
        lab.access(0, 0, Kind::Store);
        (0..20).for_each(|_| _ = lab.access(NEAR, 0, Kind::Store));
        lab.rest();
        (0..hits).for_each(|_| {
            lab.clocks[0] += ticks(1);
            lab.access(0, 0, Kind::Store);
        });
        lab.tags[&0].private_cpu().is_some()
    };
    assert_eq!([1, 11, 12].map(is_private_after), [false, false, true]);
}

/// One whose clock is ahead may not have asked for it back yet.
#[test]
fn a_line_is_private_again_after_the_slack() {
    let is_private_after = |slack: u32, cycles: u32| {
        let mut lab = lab(|_| ());
        lab.model = Model::new(&machine(), ticks(slack));
        [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Load));
        [0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Store));
        let took = lab.clocks[NEAR as usize];
        (0..20).for_each(|_| _ = lab.access(NEAR, 0, Kind::Store));
        lab.clocks[NEAR as usize] = took + ticks(cycles);
        lab.access(NEAR, 0, Kind::Store);
        lab.tags[&0].private_cpu().is_some()
    };
    assert_eq!(
        [(0, 10), (200, 10), (200, 190), (200, 210)].map(|(s, c)| is_private_after(s, c)),
        [true, false, false, true]
    );
}

#[test]
fn a_line_that_siblings_write_by_turns_is_not_private() {
    const SIBLING: u32 = 4;
    let mut lab = lab(|_| ());
    [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Load));
    lab.cycles(0, 0, Kind::Store);
    lab.rest();
    // None of them twelve times in a row.
    for _ in 0..4 {
        (0..10).for_each(|_| _ = lab.cycles(0, 0, Kind::Store));
        (0..10).for_each(|_| _ = lab.cycles(SIBLING, 0, Kind::Store));
    }
    assert_eq!(lab.tags[&0].private_cpu(), None);
}

/// The home of a line answers one request for it after the other.
#[test]
fn readers_of_what_another_has_written_wait_for_each_other() {
    let arrivals = |queueing: bool| {
        let mut lab = lab(|m| {
            (m.sockets, m.sockets_per_group, m.cores_per_socket, m.cores_per_cluster) = (1, 1, 4, 4);
            (m.latency.queueing, m.latency.in_order) = (queueing, true);
        });
        [0, 1].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Rmw));
        lab.rest();
        let now = lab.clocks[0];
        [0, 2, 3].map(|cpu| (lab.access(cpu, 0, Kind::LoadAwaited).done - now) / ticks(1))
    };
    assert_eq!(arrivals(true), [60, 86, 113]);
    assert_eq!(arrivals(false), [60, 40, 40]);
}

/// As long as it is only read, it comes from who has it, and nobody has to be told: even if it has gone from core to core before.
#[test]
fn a_line_that_is_only_read_needs_no_record() {
    let mut lab = lab(|m| m.latency.migratory = true);
    for (cpu, kind) in [(0, Kind::Store), (NEAR, Kind::Load), (0, Kind::Load), (REMOTE, Kind::Load)] {
        lab.cycles(cpu, 0, kind);
        lab.rest();
    }
    assert_eq!(lab.model.shared_lines(), 0);
}

/// Nobody has a line before it has come from memory for who asked first.
#[test]
fn what_one_waits_for_comes_to_others_later() {
    let mut lab = lab(|_| ());
    let done = [0, NEAR, REMOTE, 3].map(|cpu| lab.access(cpu, 0, Kind::LoadAwaited).done / ticks(1));
    assert!(done.into_iter().all(|done| done >= 180), "{done:?}");
}

/// Two cores that read the same lines by turns are as fast as what is between the leading one and the memory.
#[test]
fn readers_that_follow_each_other_do_not_add_up_their_waits() {
    let cycles = |lines: u64, cpus: &[u32]| {
        let mut lab = lab(|m| (m.core.misses, m.core.transfers) = (12, 12));
        for line in 0..lines {
            cpus.iter().for_each(|cpu| _ = lab.access(*cpu, line * 64, Kind::Load));
        }
        cpus.iter().map(|cpu| lab.model.drain(*cpu, lab.clocks[*cpu as usize])).max().unwrap() / ticks(lines as u32)
    };
    for lines in [100, 6400] {
        let (one, two) = (cycles(lines, &[0]), cycles(lines, &[0, NEAR]));
        assert!(two <= one + 2, "{lines} lines: {one} cycles each for one reader, {two} for two");
    }
}

/// A store that is in the buffer still is not overtaken by another core's request.
#[test]
fn a_line_is_its_owners_until_the_last_store_to_it_has_committed() {
    let mut lab = lab(|_| ());
    lab.access(0, 0, Kind::Load);
    lab.clocks[0] = ticks(100);
    lab.access(0, 4096, Kind::Load);
    let commits = lab.access(0, 0, Kind::Store).effect;
    lab.clocks[NEAR as usize] = ticks(200);
    assert!(commits > ticks(200), "behind the second load");
    assert!(lab.access(NEAR, 0, Kind::LoadAwaited).done > commits);
    // Nor does a store take what a load has not got yet.
    let mut lab = self::lab(|_| ());
    (0..2).for_each(|line| _ = lab.access(0, line * 4096, Kind::Load));
    assert!(lab.access(NEAR, 0, Kind::Rmw).done > ticks(180 + 20));
}

#[test]
fn what_a_sibling_has_written_comes_from_it() {
    const SIBLING: u32 = 4;
    let mut lab = lab(|m| m.latency.migratory = true);
    // Without atomic operations: a line that is meant to be shared does not become private.
    [NEAR, 0, NEAR].into_iter().for_each(|cpu| _ = lab.cycles(cpu, 0, Kind::Store));
    lab.rest();
    // Its core has the line alone, and unmodified.
    (0..12).for_each(|_| _ = lab.cycles(0, 0, Kind::LoadAwaited));
    lab.rest();
    lab.cycles(SIBLING, 0, Kind::Store);
    lab.rest();
    assert_eq!(lab.tags[&0].private_cpu(), None, "hits of two CPUs");
    assert_eq!([0, 0].map(|cpu| lab.cycles(cpu, 0, Kind::LoadAwaited)), [5, 0]);
    // It may write before the line is there.
    lab.cycles(NEAR, 0, Kind::Store);
    lab.rest();
    [(0, Kind::Load), (SIBLING, Kind::Store)].into_iter().for_each(|(cpu, kind)| _ = lab.access(cpu, 0, kind));
    lab.rest();
    assert_eq!([SIBLING, 0].map(|cpu| lab.cycles(cpu, 0, Kind::LoadAwaited)), [0, 5]);
}
