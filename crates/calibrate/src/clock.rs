// SPDX-License-Identifier: MIT OR Apache-2.0
//! How ticks of the time-stamp counter become nanoseconds and cycles. A core's frequency may change several times in a
//! tenth of a second, with what its neighbours do: so whatever takes cycles is held against a chain of instructions of
//! known length that runs straight before and after it.
use crate::asm::{self, now};
use crate::figure::{Figure, Spread, rounds};
use std::time::Instant;

/// Of the chain, twenty multiplications each: long enough that reading the counter does not matter.
const ROUNDS: u64 = 400;
const CYCLES: u64 = ROUNDS * 20 * 3;

/// Of one pass.
#[derive(Clone, Copy)]
pub struct Clock {
    pub ticks_per_ns: f64,
    ticks_per_cycle: f64,
}

impl Clock {
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_ns
    }
    pub fn ns_of_cycles(&self, cycles: f64) -> f64 {
        1000.0 * cycles / self.mhz()
    }
    pub fn mhz(&self) -> f64 {
        1000.0 * self.ticks_per_ns / self.ticks_per_cycle
    }

    /// The usual frequency of a quarter of a second.
    pub fn measure() -> (Clock, Spread) {
        let (begun, from) = (Instant::now(), now());
        while begun.elapsed().as_millis() < 100 {}
        let ticks_per_ns = (now() - from) as f64 / begun.elapsed().as_nanos() as f64;
        let each = rounds(10_000, chain);
        let clock = Clock { ticks_per_ns, ticks_per_cycle: each.median };
        (clock, each.map(|t| 1000.0 * ticks_per_ns / t))
    }
}

pub fn figure(clock: Clock, speed: Spread) -> Figure {
    let how = "a chain of dependent multiplications, three cycles each";
    Figure { value: clock.mhz(), ..Figure::usual("topology.clock", "MHz", speed, how) }
}

/// How many ticks it takes.
#[inline(always)]
pub fn ticks(measured: impl FnOnce()) -> f64 {
    let begun = now();
    measured();
    (now() - begun) as f64
}

/// Ticks of a cycle.
fn chain() -> f64 {
    ticks(|| asm::multiplications(ROUNDS)) / CYCLES as f64
}

/// Runs what says how many ticks it took; how many cycles these were.
pub fn cycles(measured: impl FnOnce() -> f64) -> f64 {
    let before = chain();
    let ticks = measured();
    // What disturbs the chain only makes it longer.
    ticks / before.min(chain())
}
