//! Telling a spin from work: the same place in the code looks at the same bytes again, finds them
//! unchanged, and the thread has stored nothing and computed little in between.
use corefold_model::Ticks;

#[derive(Clone, Copy, Default)]
struct Look {
    pc: u64,
    address: u64,
    value: u64,
    at: Ticks,
    stall_before: Ticks,
    spinning: bool,
}

/// The last looks of a fiber: a loop may look at a few words by turns.
#[derive(Default)]
pub struct Spins {
    looks: [Look; 4],
    last: (u64, u64),
    spinning: bool,
}

/// A look that turned out to be part of a spin.
pub struct Spun {
    /// Ticks since the same look before.
    pub time: Ticks,
    /// Of these, ticks already accounted as stall.
    pub stall: Ticks,
    /// The first repetition of a spin.
    pub begins: bool,
}

impl Spins {
    fn slot(pc: u64) -> usize {
        ((pc >> 2) ^ (pc >> 7)) as usize & 3
    }

    /// Would another look from here at `address` continue a spin?
    pub fn continues(&self, pc: u64, address: u64) -> bool {
        let look = &self.looks[Self::slot(pc)];
        look.pc == pc && look.address == address
    }

    /// Is this the very read that came last, with no store since? If not, it is the last from now on.
    #[inline]
    pub fn again(&mut self, pc: u64, address: u64) -> bool {
        let same = self.last == (pc, address) && !crate::access::wrote();
        self.last = (pc, address);
        same
    }

    /// The fiber found `value`; `stall` is all it has stalled so far. At most `longest` of computing
    /// makes it a spin.
    pub fn look(&mut self, pc: u64, address: u64, value: u64, at: Ticks, stall: Ticks, longest: Ticks) -> Option<Spun> {
        let look = &mut self.looks[Self::slot(pc)];
        let same = look.pc == pc && look.address == address && look.value == value;
        let (time, stalled) = (at.saturating_sub(look.at), stall.saturating_sub(look.stall_before));
        let spun = same && time.saturating_sub(stalled) <= longest;
        let begins = spun && !look.spinning;
        *look = Look { pc, address, value, at, stall_before: stall, spinning: spun };
        self.spinning = spun;
        spun.then_some(Spun { time, stall: stalled, begins })
    }

    /// The fiber did something that a spin does not do.
    pub fn forget(&mut self) {
        self.looks.iter_mut().for_each(|look| look.pc = 0);
        self.spinning = false;
    }

    pub fn spinning(&self) -> bool {
        self.spinning
    }
}
