// SPDX-License-Identifier: MIT OR Apache-2.0
//! Telling a spin from work: the same place in the code looks at the same bytes again, finds them
//! unchanged, and the thread has stored nothing and computed little in between.
use crate::engine::{engine, tag_of};
use corefold_model::Ticks;
use corefold_recording::AccessKind;

/// What a look found.
pub struct Found {
    pub pc: u64,
    pub address: u64,
    pub size: u8,
    pub value: u64,
    pub what: AccessKind,
    pub at: Ticks,
    /// All that the fiber has stalled so far.
    pub stall: Ticks,
}

/// The time between two looks of one spin.
#[derive(Clone, Copy, Default)]
pub struct Spun {
    pub time: Ticks,
    /// Of these, ticks already accounted as stall.
    pub stall: Ticks,
}

#[derive(Clone, Copy)]
struct Look {
    pc: u64,
    address: u64,
    value: u64,
    at: Ticks,
    stall: Ticks,
    size: u8,
    what: AccessKind,
    /// Of the spin under way, not yet accounted to the line.
    spun: Spun,
}

const NOTHING: Look = Look {
    pc: 0,
    address: 0,
    value: 0,
    at: 0,
    stall: 0,
    size: 0,
    what: AccessKind::Read,
    spun: Spun { time: 0, stall: 0 },
};

/// The last looks of a fiber: a loop may look at a few words by turns.
pub struct Spins {
    looks: [Look; 4],
    last: (u64, u64),
    spinning: bool,
}

impl Default for Spins {
    fn default() -> Self {
        Spins { looks: [NOTHING; 4], last: (0, 0), spinning: false }
    }
}

impl Spins {
    #[inline]
    fn slot(pc: u64) -> usize {
        ((pc >> 2) ^ (pc >> 7)) as usize & 3
    }

    /// Would another look from here at `address` continue a spin?
    #[inline]
    pub fn continues(&self, pc: u64, address: u64) -> bool {
        let look = &self.looks[Self::slot(pc)];
        look.pc == pc && look.address == address
    }

    /// Is this the very read that came last, with no store since? If not, it is the last from now on.
    #[inline]
    pub fn again(&mut self, pc: u64, address: u64) -> bool {
        let same = self.last == (pc, address) && !crate::hooks::access::wrote();
        self.last = (pc, address);
        same
    }

    /// Takes note of a look; at most `longest` of computing since the same one before makes it a spin.
    #[inline]
    pub fn look(&mut self, found: &Found, longest: Ticks) -> Option<Spun> {
        let look = &mut self.looks[Self::slot(found.pc)];
        let same = look.pc == found.pc && look.address == found.address && look.value == found.value;
        let time = found.at.saturating_sub(look.at);
        let stall = found.stall.saturating_sub(look.stall);
        let spun = same && time.saturating_sub(stall) <= longest;
        self.spinning = spun;
        if spun {
            look.at = found.at;
            look.stall = found.stall - stall;
            look.spun.time += time;
            look.spun.stall += stall;
            return Some(Spun { time, stall });
        }
        look.settle();
        let Found { pc, address, value, at, stall, size, what } = *found;
        *look = Look { pc, address, value, at, stall, size, what, spun: Spun::default() };
        None
    }

    /// The fiber did something that a spin does not do.
    pub fn forget(&mut self) {
        for look in &mut self.looks {
            look.settle();
            look.pc = 0;
        }
        self.spinning = false;
    }

    #[inline]
    pub fn spinning(&self) -> bool {
        self.spinning
    }
}

impl Look {
    /// Accounts a spin that is over to its line.
    fn settle(&mut self) {
        let spun = core::mem::take(&mut self.spun);
        if spun.time == 0 {
            return;
        }
        engine().locks.spun(self.address, spun.time, self.pc);
        if let Some(index) = tag_of(self.address).record_index() {
            engine().sites.spun(index, self.pc, self.what, self.address, self.size, &spun);
        }
    }
}
