// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each mechanism of the model does, shown by a machine with it and one without.
mod common;
use common::machine;
use corefold_model::{Access, Cache, Caches, Class, Kind, Machine, Model, Outcome, Pair, Tag, Ticks, ticks};
use std::collections::BTreeMap;

/// A model, and the tags that the engine would keep.
struct Lab {
    model: Model,
    tags: BTreeMap<u64, Tag>,
    clocks: Vec<Ticks>,
}

impl Lab {
    fn new(machine: &Machine) -> Lab {
        Lab { model: Model::new(machine), tags: BTreeMap::new(), clocks: vec![0; machine.cpus() as usize] }
    }

    /// One access by a CPU, at its clock, which it moves; as the engine does.
    fn access(&mut self, cpu: u32, address: u64, kind: Kind) -> Outcome {
        let clock = self.clocks[cpu as usize];
        let access = Access { cpu, address, size: 8, kind, origin: 0 };
        let now = if kind == Kind::Rmw { self.model.drain(cpu, clock) } else { clock };
        let outcome = self.model.access(self.tags.entry(address / 64).or_default(), &access, now);
        if let Some(other) = self.model.pair_of(address, &outcome) {
            self.model.prefetch(self.tags.entry(other / 64).or_default(), cpu, other, now);
        }
        while let Some(evicted) = self.model.take_evicted() {
            self.model.evicted(cpu, kind, self.tags.get_mut(&(evicted / 64)).unwrap());
        }
        self.clocks[cpu as usize] = outcome.done;
        outcome
    }

    /// As [`Lab::access`]; from the request until nothing of it is under way, in cycles.
    fn cycles(&mut self, cpu: u32, address: u64, kind: Kind) -> u64 {
        let begun = self.clocks[cpu as usize];
        self.access(cpu, address, kind);
        let done = self.model.drain(cpu, self.clocks[cpu as usize]);
        self.clocks[cpu as usize] = done;
        (done - begun) / ticks(1)
    }

    /// All clocks to the same time, later than anything that is under way.
    fn rest(&mut self) {
        let latest = self.clocks.iter().max().unwrap() + ticks(100_000);
        for cpu in 0..self.clocks.len() {
            self.clocks[cpu] = latest;
            self.model.drain(cpu as u32, latest);
        }
    }

    /// CPUs add to one line without a pause; the mean cycles of an operation, as the machine sees it.
    fn contended(&mut self, cpus: &[u32], kind: Kind, times: u64) -> u64 {
        self.fought_for(cpus, kind, times).0
    }

    /// The same, and who was done when, with the distances that the line came.
    fn fought_for(&mut self, cpus: &[u32], kind: Kind, times: u64) -> (u64, Vec<(u32, Option<Class>)>) {
        let from = self.clocks[cpus[0] as usize];
        let mut waits: BTreeMap<u32, Outcome> = BTreeMap::new();
        let mut done = Vec::new();
        while done.len() < times as usize {
            let cpu = *cpus.iter().min_by_key(|c| self.clocks[**c as usize]).unwrap();
            let now = self.clocks[cpu as usize];
            let Some(outcome) = waits.remove(&cpu) else {
                let outcome = self.access(cpu, 0, kind);
                self.clocks[cpu as usize] = outcome.effect;
                waits.insert(cpu, outcome);
                continue;
            };
            if let Some(later) = self.model.postponed(self.tags[&0], cpu, now) {
                self.clocks[cpu as usize] = later;
                waits.insert(cpu, outcome);
                continue;
            }
            done.push((cpu, outcome.transfer));
            self.clocks[cpu as usize] = now + (outcome.done - outcome.effect) + ticks(1);
        }
        let to = cpus.iter().map(|c| self.clocks[*c as usize]).max().unwrap();
        ((to - from) / ticks(1) / times, done)
    }
}

fn lab(change: impl FnOnce(&mut Machine)) -> Lab {
    let mut machine = machine();
    change(&mut machine);
    Lab::new(&machine)
}

/// CPUs 0 to 3 are the cores of two sockets; 4 to 7 their second threads.
const NEAR: u32 = 1;
const REMOTE: u32 = 2;

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
fn independent_loads_overlap_up_to_a_limit_and_awaited_ones_do_not() {
    let sum = |lab: &mut Lab, kind| {
        (0..9).for_each(|i| _ = lab.access(0, i * 4096, kind));
        lab.model.drain(0, lab.clocks[0]) / ticks(1)
    };
    let wide = |m: &mut Machine| m.core.window = 1000;
    let (mut with, mut chain) = (lab(wide), lab(wide));
    let mut without = lab(|m| (m.core.window, m.core.misses) = (0, 1));
    // Three at once, of 180 cycles each; one after the other if each is waited for.
    assert_eq!(sum(&mut with, Kind::Load), 3 * 180);
    assert_eq!(sum(&mut without, Kind::Load), 9 * 180);
    assert_eq!(sum(&mut chain, Kind::LoadAwaited), 9 * 180);
}

/// A CPU that waits does not run further past its loads: what it has waited for is not paid again.
#[test]
fn a_wait_is_paid_once() {
    // The window is 50 cycles, and a line comes from memory in 180.
    type Then = fn(&mut Lab) -> Ticks;
    let ways: [(&str, Then); 6] = [
        ("for a load that delivers an address", |lab| {
            let load = *lab.model.loads(0).next().unwrap();
            lab.model.await_load(0, &load, 0)
        }),
        ("for a value", |lab| lab.access(0, 4096, Kind::LoadAwaited).done),
        ("for room among the loads", |lab| {
            lab.access(0, 4096, Kind::Load);
            lab.access(0, 8192, Kind::Load);
            lab.access(0, 12288, Kind::Load).done
        }),
        ("for room among the stores", |lab| {
            (1..5).for_each(|line| _ = lab.access(0, line * 4096, Kind::Store));
            lab.access(0, 5 * 4096, Kind::Store).done
        }),
        ("for what a sibling asked for", |lab| {
            lab.access(4, 4096, Kind::LoadAwaited);
            lab.access(0, 4096, Kind::Load).done
        }),
        ("for what only its caller knows of", |lab| {
            lab.model.stands_still(0, ticks(180));
            ticks(180)
        }),
    ];
    for (what, wait) in ways {
        let mut lab = lab(|_| ());
        assert_eq!(lab.access(0, 0, Kind::Load).done, 0);
        let waited = wait(&mut lab);
        assert_eq!((waited, lab.model.retire(0, waited)), (ticks(180), ticks(180)), "{what}");
    }
    let mut lab = lab(|_| ());
    (0..2).for_each(|line| _ = lab.access(0, line * 4096, Kind::Load));
    assert_eq!(
        lab.model.retire(0, ticks(60)),
        ticks(60 + 130),
        "the first load's wait at the window's end is the second's"
    );
}

#[test]
fn threads_of_a_core_share_its_cache() {
    let mut lab = lab(|_| ());
    lab.cycles(0, 0, Kind::Store);
    lab.rest();
    assert_eq!(lab.cycles(4, 0, Kind::LoadAwaited), 5, "the sibling");
    lab.cycles(0, 4096, Kind::Store);
    lab.rest();
    assert_eq!(lab.cycles(NEAR, 4096, Kind::LoadAwaited), 60, "another core");
}

#[test]
fn the_home_of_a_line_counts_where_the_machine_says_so() {
    let away = |m: &mut Machine| {
        m.cores_per_cluster = 1;
        m.latency.away = Pair { clean: 140, modified: 190 };
    };
    let within_socket_1 = |mut lab: Lab, home: u32| {
        lab.cycles(home, 64, Kind::Store);
        lab.rest();
        // The other line of the page: homes are of pages.
        lab.cycles(REMOTE, 0, Kind::Store);
        lab.rest();
        lab.cycles(REMOTE + 1, 0, Kind::LoadAwaited)
    };
    assert_eq!(within_socket_1(lab(away), 2), 60, "at home in socket 1");
    assert_eq!(within_socket_1(lab(away), 0), 190, "at home in socket 0");
    assert_eq!(within_socket_1(lab(|m| (away(m), m.latency.home_node = false).0), 0), 60, "homes left out");
    assert_eq!(within_socket_1(lab(|_| ()), 0), 60, "a machine without such a thing");
}

#[test]
fn a_page_that_is_unmapped_has_no_home() {
    let taken = |forgotten: Option<(u64, u64)>| {
        let mut lab = lab(|m| {
            m.cores_per_cluster = 1;
            m.latency.away = Pair { clean: 140, modified: 190 };
        });
        // Shared in socket 0, so that its line has a record there, too.
        lab.cycles(0, 4096, Kind::Rmw);
        lab.cycles(NEAR, 4096, Kind::Rmw);
        lab.rest();
        if let Some((begin, bytes)) = forgotten {
            lab.model.forget_pages(begin, bytes);
            lab.tags.clear();
        }
        lab.cycles(REMOTE, 4096, Kind::Store);
        lab.rest();
        lab.cycles(REMOTE + 1, 4096, Kind::LoadAwaited)
    };
    assert_eq!(taken(None), 190, "still at home in socket 0");
    assert_eq!(taken(Some((4096, 4096))), 60, "unmapped, and touched by socket 1 first");
    assert_eq!(taken(Some((0, 1 << 40))), 60, "with much else");
    assert_eq!(taken(Some((8192, 4096))), 190, "another page");
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
    let without = last(|m| (m.latency.queueing, m.latency.home_busy) = (false, 0));
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

/// Cycles of CPUs 0 to 3, two to a socket, that each read 4,000 new lines.
fn streamed(change: fn(&mut Machine)) -> u64 {
    let mut lab = lab(|m| {
        (m.core.misses, m.core.transfers) = (16, 16);
        change(m);
    });
    for line in 0..4000 {
        for cpu in 0..4 {
            lab.access(cpu, (u64::from(cpu) << 32) + line * 64, Kind::Load);
        }
    }
    (0..4).for_each(|cpu| lab.clocks[cpu as usize] = lab.model.drain(cpu, lab.clocks[cpu as usize]));
    *lab.clocks.iter().max().unwrap() / ticks(1)
}

#[test]
fn memory_delivers_no_more_than_its_bandwidth() {
    // At 2 GHz, 2,560 MB a second are a line in 50 cycles: each socket has 8,000 to deliver.
    let (without, with) = (streamed(|_| ()), streamed(|m| m.memory_bandwidth = 2560));
    assert!(without < 200_000 && (390_000..410_000).contains(&with), "{without} without a limit, {with} with one");
}

#[test]
fn links_between_sockets_deliver_no_more_than_their_bandwidth() {
    let moved = |megabytes: u32| {
        let mut lab = lab(|m| m.link_bandwidth = megabytes);
        for line in 0..1000 {
            lab.access(0, line * 64, Kind::Store);
        }
        lab.rest();
        let begun = lab.clocks[REMOTE as usize];
        for line in 0..1000 {
            lab.access(REMOTE, line * 64, Kind::Store);
        }
        (lab.model.drain(REMOTE, lab.clocks[REMOTE as usize]) - begun) / ticks(1)
    };
    let (without, with) = (moved(0), moved(256));
    // A line in 500 cycles.
    assert!(without < 400_000 && (490_000..560_000).contains(&with), "{without} without a limit, {with} with one");
}

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
fn lines_of_other_cores_come_a_few_at_a_time() {
    let all = |transfers| {
        let mut lab = lab(|m| (m.core.transfers, m.core.store_buffer) = (transfers, 64));
        (0..12).for_each(|line| _ = lab.access(NEAR, line * 64, Kind::Store));
        lab.rest();
        let begun = lab.clocks[0];
        (0..12).for_each(|line| _ = lab.access(0, line * 64, Kind::Store));
        let done = lab.model.drain(0, lab.clocks[0]);
        (done - begun) / ticks(1)
    };
    assert_eq!((all(12), all(4), all(1)), (60, 180, 720));
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
