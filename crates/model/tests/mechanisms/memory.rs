// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines' homes, what threads of a core share, and bandwidth.
use crate::lab::{Lab, NEAR, REMOTE, lab};
use corefold_model::{Kind, Machine, Pair, ticks};

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
fn what_a_miss_brings_beside_its_line_takes_bandwidth() {
    // Every second line is there when it is read, and the others wait for two.
    let pairs = streamed(|m| (m.memory_bandwidth, m.core.adjacent_line) = (2560, true));
    assert!((390_000..410_000).contains(&pairs), "{pairs}");
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

/// A request from another socket reads in the home's memory who has the line; what the memory has to be told is written there.
#[test]
fn a_directory_in_memory_takes_its_bandwidth() {
    let moved = |directory: bool, kind: Kind| {
        // A line in 500 cycles.
        let mut lab = lab(|m| {
            (m.memory_bandwidth, m.directory_in_memory) = (256, directory);
            // A machine whose homes matter anyway.
            m.sockets_per_group = 1;
        });
        (0..1000).for_each(|line| _ = lab.access(0, line * 64, Kind::Store));
        (0..10).for_each(|_| lab.rest());
        let begun = lab.clocks[REMOTE as usize];
        (0..1000).for_each(|line| _ = lab.access(REMOTE, line * 64, kind));
        (lab.model.drain(REMOTE, lab.clocks[REMOTE as usize]) - begun) / ticks(1000)
    };
    assert!(moved(false, Kind::Load) < 400);
    assert!((480..520).contains(&moved(true, Kind::Store)), "it is modified before and after");
    assert!((960..1020).contains(&moved(true, Kind::Load)), "its memory gets the bytes");
}
