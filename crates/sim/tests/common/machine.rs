// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small machine for tests: two sockets of two cores with two threads each.
use corefold_model::{Cache, Caches, Core, Latency, Machine, Pair, System};

const LOCAL: Pair = Pair { clean: 40, modified: 60 };
const REMOTE: Pair = Pair { clean: 150, modified: 200 };

pub fn machine() -> Machine {
    Machine {
        name: "test".into(),
        sockets: 2,
        cores_per_socket: 2,
        cores_per_cluster: 2,
        sockets_per_group: 2,
        threads_per_core: 2,
        line_bytes: 64,
        clock_hz: 2_000_000_000,
        turbo: Default::default(),
        order: Default::default(),
        latency: Latency {
            smt: 5,
            cluster: LOCAL,
            local: LOCAL,
            away: LOCAL,
            remote: REMOTE,
            far: REMOTE,
            memory: 180,
            remote_memory: 180,
            request_percent: 33,
            snoop_percent: 33,
            queueing: true,
            in_order: false,
            home_node: true,
            data_by_home: false,
            migratory: false,
            spread: 0,
        },
        core: Core {
            width: 4,
            rmw: 20,
            rmw_held: 20,
            split_lock: 1000,
            reload: 5,
            load: 5,
            forward: 5,
            renamed: 5,
            renamed_indexed: 5,
            renamed_twice: 5,
            fence: 30,
            fence_serializes: false,
            pause: 10,
            store_buffer: 4,
            forwards_lost: true,
            misses: 3,
            transfers: 3,
            window: 50,
            scheduler: 97,
            chains: true,
            taken_branch: 1,
            mispredict: 15,
            smt_percent: 125,
            adjacent_line: false,
        },
        caches: Caches::ENDLESS,
        memory_bandwidth: 0,
        link_bandwidth: 0,
        directory_in_memory: false,
        system: System {
            syscall: 300,
            futex: 225,
            wake_spread: 0,
            wake: 3000,
            wake_call: 2_000,
            futex_wake: 225,
            context_switch: 2000,
            timeslice: 1_000_000,
            numa_imbalance: 0,
            wake_granularity: 1_000_000,
            sleeper_credit: 3_000_000,
            interrupt: 1000,
            interrupt_send: 100,
            grace_period: 1_000_000,
            thread_create: 10_000,
            allocation: 50,
            clock_read: 30,
        },
    }
}

/// The same with caches that soon are full, and prefetches of pairs of lines.
pub fn with_small_caches() -> Machine {
    let level = |lines: u64, latency| Cache { bytes: lines * 64, ways: 2, latency };
    let caches = Caches { l1: level(2, 0), l2: level(4, 14), l3: level(8, 40), line: 2, stored_line: 3 };
    let machine = machine();
    Machine { caches, core: Core { adjacent_line: true, ..machine.core }, ..machine }
}
