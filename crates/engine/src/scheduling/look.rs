// SPDX-License-Identifier: MIT OR Apache-2.0
//! A read of a loop that may be a spin, and what is charged to its word.
use crate::counts::sites::{Counts, SITES};
use crate::scheduling::waits::Calls;
use crate::storage::relayout::tag_of;
use corefold_model::Ticks;
use corefold_recording::AccessKind;

/// Time of one spin that was not counted before.
#[derive(Clone, Copy, Default)]
pub struct Spun {
    pub time: Ticks,
    /// Of these, ticks already accounted as stall.
    pub stall: Ticks,
}

#[derive(Clone, Copy)]
pub struct Look {
    pub cpu: u32,
    /// The bits that a read-modify-write sets or clears, of those that each of the loop's did; 0: a load, or it does not matter.
    pub asks: u64,
    pub pc: u64,
    pub address: u64,
    pub value: u64,
    pub at: Ticks,
    /// The fiber's stall by then, and its pauses.
    pub stall: Ticks,
    pub paused: Ticks,
    pub size: u8,
    pub what: AccessKind,
    pub orders: bool,
    /// The current loop computes: reading the same value again is no spin.
    pub computes: bool,
    /// Of the current spin, not yet accounted to any line.
    pub spun: Spun,
    pub calls: Calls,
}

pub const NOTHING: Look = Look {
    cpu: 0,
    asks: 0,
    pc: 0,
    address: 0,
    value: 0,
    at: 0,
    stall: 0,
    paused: 0,
    size: 0,
    what: AccessKind::Read,
    orders: false,
    computes: false,
    spun: Spun { time: 0, stall: 0 },
    calls: Calls { end: core::ptr::null(), innermost: 0 },
};

impl Look {
    /// Subtracts stall that counts as spinning from what was charged here. Returns how much was.
    pub fn relieve(&self, stall: Ticks) -> Ticks {
        match tag_of(self.address).record_index() {
            Some(index) if stall > 0 => self.counts(index, |counts| counts.relieve(stall)),
            _ => 0,
        }
    }

    /// This is certainly a word that the loop waits for: it changed, or nothing else can end the loop.
    pub fn is_waited_for(&self) {
        if let Some(index) = tag_of(self.address).record_index() {
            SITES.with(|sites| sites.is_waited_for(index, self.address, self.size));
        }
    }

    pub fn spent(&self, time: Ticks, relieved: Ticks) {
        if let Some(index) = tag_of(self.address).record_index() {
            self.counts(index, |counts| counts.spun(time, relieved));
        }
    }

    pub fn counts<R>(&self, line: u32, change: impl FnOnce(&mut Counts) -> R) -> R {
        SITES.with(|sites| change(sites.at(line, self.pc, self.what as u8, self.address, self.size, self.cpu)))
    }
}
