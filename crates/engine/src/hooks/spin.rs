// SPDX-License-Identifier: MIT OR Apache-2.0
//! Telling a spin from work: the same place in the code looks at the same bytes again, finds them
//! unchanged, and the thread has stored nothing and computed little in between.
use crate::engine::{current, engine, tag_of};
use crate::hooks::access::read_value;
use crate::hooks::hot::{Captured, hot};
use core::hash::Hasher;
use corefold_model::Ticks;
use corefold_recording::AccessKind;
use rustc_hash::FxHasher;

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

/// The last looks of a fiber: a loop may look at a few words by turns. In the order in which it is used:
/// with hundreds of fibers, each line of it that a look touches is a miss of the host's.
#[repr(C, align(64))]
pub struct Spins {
    turns: Turns,
    pub captured: Captured,
    last: (u64, u64),
    looks: [Look; 4],
    spinning: bool,
}

impl Default for Spins {
    fn default() -> Self {
        Spins {
            turns: Turns::default(),
            captured: Captured::default(),
            last: (0, 0),
            looks: [NOTHING; 4],
            spinning: false,
        }
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
        if !spun {
            self.turns.end();
        } else if look.pc == self.turns.pc {
            self.turns.another(time, stall);
        } else if self.turns.pc == 0 && look.pc != self.turns.impure {
            self.turns.begin(look.pc);
        }
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
        self.turns.end();
    }

    /// Would every further turn be like the last, as far as this thread goes? Asked after a look from `pc`.
    #[inline(always)]
    pub fn is_steady(&mut self, pc: u64) -> bool {
        self.turns.steady == pc && self.turns.are_pure(&mut self.captured)
    }

    /// The loop at hand has no end of its own.
    pub fn goes_on_for_ever(&mut self) {
        self.turns.pure = true;
    }

    /// Between two looks from the same place, one turn apart.
    pub fn period(&self) -> Ticks {
        self.turns.period
    }

    /// How often the steady spin has dozed so far.
    pub fn dozes(&self) -> u32 {
        u32::from(self.turns.dozes)
    }

    /// Where the spin that is steady looks.
    pub fn place(&self) -> u64 {
        self.turns.pc
    }

    /// The lines that the steady spin looks at; 0: none.
    pub fn lines(&self) -> [u64; 4] {
        let newest = self.looks.iter().map(|l| l.at).max().unwrap_or(0);
        let line = |look: &Look| {
            let part = look.pc != 0 && look.at + self.turns.period >= newest;
            if part { crate::engine::line_start(look.address) } else { 0 }
        };
        self.looks.each_ref().map(line)
    }

    /// So much of the steady spin was not simulated: it is as if each look had come later.
    pub fn dozed(&mut self, time: Ticks) {
        for look in self.looks.iter_mut().filter(|l| l.pc != 0) {
            look.at += time;
            if look.pc == self.turns.pc {
                look.spun.time += time;
            }
        }
        self.turns.same = Turns::TRIED - 2;
        self.turns.steady = 0;
        self.turns.dozes = self.turns.dozes.saturating_add(1);
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

/// The turns of a spin, counted at the place it first looked from.
#[derive(Default)]
#[repr(C)]
struct Turns {
    pc: u64,
    /// The same, once there were as many equal turns as make it worth asking whether they will go on.
    steady: u64,
    period: Ticks,
    /// A place whose turns do change something.
    impure: u64,
    /// What the thread looked like some turns ago; 0: not known.
    image: u64,
    /// Turns in a row that took as long as the one before, and nothing else.
    same: u16,
    dozes: u8,
    /// Nothing in the thread changes from turn to turn.
    pure: bool,
}

impl Turns {
    const TRIED: u16 = 48;

    fn begin(&mut self, pc: u64) {
        *self = Turns { pc, impure: self.impure, ..Turns::default() };
        hot!().called = 0;
    }

    #[inline]
    fn end(&mut self) {
        self.pc = 0;
        self.steady = 0;
    }

    #[inline]
    fn another(&mut self, time: Ticks, stall: Ticks) {
        let same = time == self.period && stall == 0 && hot!().called == 0;
        hot!().called = 0;
        self.period = time;
        self.same = if same { self.same.saturating_add(1) } else { 0 };
        self.steady = if self.same >= Turns::TRIED { self.pc } else { 0 };
    }

    /// Compares what the thread looks like now with what it did a turn ago. The first times it only has the
    /// next look take the registers down.
    #[cold]
    fn are_pure(&mut self, captured: &mut Captured) -> bool {
        if self.pure {
            return true;
        }
        if core::mem::replace(&mut captured.state, Captured::WANTED) != Captured::DONE {
            return false;
        }
        let Some(image) = image(&captured.registers) else { return false };
        if self.image == 0 {
            self.image = image;
        } else if self.image == image {
            self.pure = true;
        } else {
            self.impure = self.pc;
            self.end();
        }
        self.pure
    }
}

/// Bytes of the stack that are looked at: deeper, no loop keeps what it counts.
const STACK: u64 = 64 << 10;

/// The captured registers and the stack above them, in one word that is not 0; `None` on a stack that is
/// not the thread's.
fn image(registers: &[u64; 7]) -> Option<u64> {
    let stack = registers[6];
    if !current().thread.has_stack(stack) {
        return None;
    }
    let mut hash = FxHasher::default();
    registers.iter().for_each(|r| hash.write_u64(*r));
    let from = stack & !7;
    let end = crate::threads::thread::stack_end(from).min(from + STACK);
    for address in (from..end).step_by(8) {
        hash.write_u64(read_value(address, 8));
    }
    Some(hash.finish() | 1)
}
