// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may have decided the duration of the run: readings of clocks, and timers of the program.
use crate::carrier::Carrier;
use corefold_model::Ticks;

pub struct Pace {
    /// How often the program has read a clock, and timers of its own came due.
    pub clock_reads: u64,
    pub alarms: u64,
    /// The longest time that one of these timers was set for.
    pub longest_alarm: Ticks,
}

impl Pace {
    pub const NOTHING: Pace = Pace { clock_reads: 0, alarms: 0, longest_alarm: 0 };
}

pub static PACE: Carrier<Pace> = Carrier::new(Pace::NOTHING);
