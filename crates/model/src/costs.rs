// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine's figures as the model computes with them.
use crate::access::Class;
use crate::{Machine, Ticks, ticks};

/// Latencies in ticks, the transfer's split into legs.
pub(crate) struct Costs {
    pub legs: [Legs; 7],
    pub home_busy: Ticks,
    pub rmw: Ticks,
    pub smt: Ticks,
    pub window: Ticks,
    pub misses: usize,
    pub store_buffer: usize,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Legs {
    pub request: Ticks,
    pub snoop: Ticks,
    pub data: Ticks,
}

impl Costs {
    /// When a line arrives that is asked for at `now` and that nobody else wants.
    pub fn arrival(&self, class: Class, now: Ticks) -> Ticks {
        let legs = self.legs[class as usize];
        now + legs.request + legs.snoop + legs.data
    }

    pub fn of(machine: &Machine) -> Self {
        let l = &machine.latency;
        let split = |cycles: u32| {
            let total = ticks(cycles);
            let request = total * u64::from(l.request_percent) / 100;
            let snoop = total * u64::from(l.snoop_percent) / 100;
            Legs { request, snoop, data: total - request - snoop }
        };
        let mut legs = [Legs::default(); 7];
        legs[Class::LocalClean as usize] = split(l.local_clean);
        legs[Class::LocalModified as usize] = split(l.local_modified);
        legs[Class::RemoteClean as usize] = split(l.remote_clean);
        legs[Class::RemoteModified as usize] = split(l.remote_modified);
        legs[Class::Memory as usize] = split(l.memory);
        Costs {
            legs,
            home_busy: ticks(l.home_busy),
            rmw: ticks(machine.core.rmw),
            smt: ticks(l.smt),
            window: ticks(machine.core.window),
            misses: machine.core.misses.max(1) as usize,
            store_buffer: machine.core.store_buffer.max(1) as usize,
        }
    }
}
