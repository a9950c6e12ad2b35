// SPDX-License-Identifier: MIT OR Apache-2.0
//! L1–L2 bandwidth: the port between a core's first two levels moves one line at a time: refills, and write-backs of
//! modified lines evicted for them.
//!
//! Loads pass stores that wait for their turn. A CPU that requests more than the port delivers continues until all
//! places for outstanding lines are taken, and then waits until all have arrived: the port is busy all the time, so
//! that takes as long as waiting for each.
use crate::{Machine, Ticks, ticks};

pub(crate) struct L2Bandwidth {
    /// When the lines requested by loads have arrived.
    loads: Ticks,
    /// The same of all.
    all: Ticks,
}

/// The time that a line occupies it.
#[derive(Clone, Copy)]
pub(crate) struct Rates {
    line: Ticks,
    stored: Ticks,
    /// How far loads, and stores, may be ahead of their lines.
    ahead: Ticks,
    stored_ahead: Ticks,
}

impl Rates {
    pub fn of(machine: &Machine) -> Rates {
        let (caches, core) = (&machine.caches, &machine.core);
        // Without a first level of its own size nothing comes to it.
        let rate = |ticks: u32| if caches.l1.bytes > 0 { Ticks::from(ticks) } else { 0 };
        let (line, stored) = (rate(caches.line), rate(caches.stored_line));
        // What has set out takes a place too.
        let ahead = |places: u32, rate: Ticks| (Ticks::from(places) * rate).saturating_sub(ticks(caches.l2.latency));
        Rates {
            line,
            stored,
            ahead: ahead(core.misses, line).min(ticks(core.window)),
            stored_ahead: ahead(core.store_buffer, stored),
        }
    }
}

impl L2Bandwidth {
    pub fn new() -> L2Bandwidth {
        L2Bandwidth { loads: 0, all: 0 }
    }

    /// A line is asked for at `now`. Returns until when the CPU waits before it asks, and when the line sets out.
    #[inline]
    pub fn refill(&mut self, stores: bool, now: Ticks, rates: &Rates) -> (Ticks, Ticks) {
        if stores {
            let now = if self.all > now + rates.stored_ahead { self.all } else { now };
            let begun = now.max(self.all);
            self.all = begun + rates.stored;
            return (now, begun);
        }
        let now = if self.loads > now + rates.ahead { self.loads } else { now };
        let begun = now.max(self.loads);
        self.loads = begun + rates.line;
        self.all = now.max(self.all) + rates.line;
        (now, begun)
    }

    /// A modified line makes room for one that a load or a store brings.
    #[inline]
    pub fn write_back(&mut self, stores: bool, rates: &Rates) {
        self.all += rates.line;
        if !stores {
            self.loads += rates.line;
        }
    }
}
