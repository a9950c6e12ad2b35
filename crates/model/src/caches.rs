// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches of finite size: which lines each core's first two levels and each cluster's third level hold.
//!
//! They say only where copies of a line *are*; tags and records say which core owns it. A copy that another core's
//! write has invalidated stays until it is replaced. The third level takes lines evicted from the second.
use crate::level::{Level, Put, Regions, Short};
use crate::machine::{Cache, Caches as Sizes};
use crate::{Machine, Ticks, ticks};
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Found {
    First,
    Second,
    Third,
    Nowhere,
}

pub(crate) struct Caches {
    on: bool,
    /// The first level has a size of its own.
    has_first: bool,
    first: Level,
    second: Level,
    third: Level,
    regions: Regions,
    pub second_hit: Ticks,
    pub third_hit: Ticks,
    /// Lines evicted from a first level that the caller has not collected yet.
    evicted: Vec<u64>,
}

impl Caches {
    pub fn new(machine: &Machine, clusters: usize) -> Self {
        let Sizes { l1, l2, l3, .. } = machine.caches;
        let on = machine.caches.are_finite();
        let (cores, clusters) = if on { (machine.cores() as usize, clusters) } else { (0, 0) };
        let level = |cache: Cache, count| Level::new(cache, machine.line_bytes, count);
        Caches {
            on,
            has_first: l1.bytes > 0,
            first: level(l1, cores),
            second: level(l2, cores),
            third: level(l3, clusters),
            regions: Regions::new(),
            second_hit: ticks(l2.latency),
            third_hit: ticks(l3.latency),
            evicted: Vec::new(),
        }
    }

    #[inline]
    pub fn on(&self) -> bool {
        self.on
    }

    /// Does the core have the line in a cache of its own?
    pub fn has(&mut self, core: u16, line: u64) -> bool {
        let (core, short) = (usize::from(core), self.regions.shorten(line));
        self.first.has(core, line, short) || self.second.has(core, line, short)
    }

    pub fn third_has(&mut self, cluster: u16, line: u64) -> bool {
        let short = self.regions.shorten(line);
        self.third.has(usize::from(cluster), line, short)
    }

    /// Brings a line to a core's first level; says where it was.
    #[inline]
    pub fn refill(&mut self, core: u16, cluster: u16, line: u64) -> Found {
        let (core, cluster) = (usize::from(core), usize::from(cluster));
        let short = self.regions.shorten(line);
        if self.has_first {
            if self.first.is_newest(core, line, short) {
                return Found::First;
            }
            match self.first.put(core, line, short) {
                Put::Had => return Found::First,
                Put::HadRoom => {}
                Put::Evicts(evicted) => self.evicted.push(self.regions.line(evicted)),
            }
        }
        self.refill_from_below(core, cluster, line, short)
    }

    #[inline]
    fn refill_from_below(&mut self, core: usize, cluster: usize, line: u64, short: Short) -> Found {
        match self.second.put(core, line, short) {
            Put::Had => return if self.has_first { Found::Second } else { Found::First },
            Put::HadRoom => {}
            Put::Evicts(evicted) => {
                let evicted_line = self.regions.line(evicted);
                self.third.put(cluster, evicted_line, evicted);
                if !self.has_first {
                    self.evicted.push(evicted_line);
                }
            }
        }
        if self.third.has(cluster, line, short) { Found::Third } else { Found::Nowhere }
    }

    pub fn take_evicted(&mut self) -> Option<u64> {
        self.evicted.pop()
    }

    #[inline]
    pub fn any_evicted(&self) -> bool {
        !self.evicted.is_empty()
    }
}
