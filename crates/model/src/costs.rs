// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine's figures as the model computes with them.
use crate::l2_bandwidth::Rates;
use crate::line::Home;
use crate::places::Distance;
use crate::{Machine, Ticks, ticks};

/// Latencies in ticks, the transfer's split into legs.
pub(crate) struct Costs {
    /// By distance, clean and modified.
    legs: [[Legs; 2]; Distance::ALL],
    pub memory: Legs,
    pub remote_memory: Legs,
    pub home: Home,
    pub rmw: Ticks,
    /// From the beginning of a read-modify-write until it locks its line: a snoop that arrives before
    /// still gets it.
    pub exposed: Ticks,
    pub split_lock: Ticks,
    pub smt: Ticks,
    pub window: Ticks,
    /// The longest way of a line, if nobody waits for it.
    pub longest: Ticks,
    pub misses: usize,
    pub transfers: usize,
    pub store_buffer: usize,
    /// A core's hardware threads slow each other down.
    pub siblings_share: bool,
    pub forwards_lost: bool,
    pub l2_bandwidth: Rates,
    /// Standard deviation of a transfer, in 1024ths of its time.
    spread: u64,
    pub migratory: bool,
    pub directory_in_memory: bool,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Legs {
    pub request: Ticks,
    pub snoop: Ticks,
    pub data: Ticks,
}

impl Legs {
    pub fn all(&self) -> Ticks {
        self.request + self.snoop + self.data
    }
}

impl Costs {
    #[inline]
    pub fn legs(&self, distance: Distance, dirty: bool) -> Legs {
        self.legs[distance as usize][usize::from(dirty)]
    }

    /// The least time from a request to the owner's loss of its line.
    pub fn soonest_loss(&self) -> Ticks {
        let least = |legs: &Legs| [legs.request, legs.snoop].map(|leg| leg.saturating_sub(self.spread_of(legs)));
        self.legs.iter().map(|[_, modified]| least(modified).iter().sum()).min().unwrap_or(0)
    }

    /// By how much each leg of a way is longer or shorter at most: three that are drawn evenly have this for their
    /// standard deviation.
    #[inline]
    pub fn spread_of(&self, legs: &Legs) -> Ticks {
        (legs.all() * self.spread) >> 10
    }

    pub fn of(machine: &Machine) -> Self {
        let l = &machine.latency;
        let split = |cycles: u32| {
            let total = ticks(cycles);
            let request = total * u64::from(l.request_percent) / 100;
            let snoop = total * u64::from(l.snoop_percent) / 100;
            Legs { request, snoop, data: total - request - snoop }
        };
        let pairs = [l.cluster, l.local, l.away, l.remote, l.far];
        let ways = pairs.iter().flat_map(|pair| [pair.clean, pair.modified]);
        let longest = ways.chain([l.memory, l.remote_memory]).max().map_or(0, ticks);
        let siblings_share = machine.core.smt_percent < 100 * u32::from(machine.threads_per_core);
        Costs {
            legs: pairs.map(|pair| [split(pair.clean), split(pair.modified)]),
            memory: split(l.memory),
            remote_memory: split(l.remote_memory),
            home: Home { queueing: l.queueing, in_order: l.in_order, data_by: l.data_by_home },
            rmw: ticks(machine.core.rmw),
            exposed: ticks(machine.core.rmw.saturating_sub(machine.core.rmw_held)),
            split_lock: ticks(machine.core.split_lock),
            smt: ticks(l.smt),
            window: ticks(machine.core.window),
            longest,
            misses: machine.core.misses.max(1) as usize,
            transfers: machine.core.transfers.max(1) as usize,
            store_buffer: machine.core.store_buffer as usize,
            siblings_share,
            forwards_lost: machine.core.forwards_lost,
            l2_bandwidth: Rates::of(machine),
            spread: u64::from(l.spread) * 1024 / 100,
            migratory: l.migratory,
            directory_in_memory: machine.directory_in_memory,
        }
    }
}
