// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a block's cost depends on beside its code: the trip count of an inner loop, as iterations of the loop around it
//! overlap, and where the function is called from, as that may be in a loop. Until enough visits are seen, the block has no
//! known cost, and each of its visits calls this module.
use crate::carrier::Carrier;
use crate::code::cost::{core, packed};
use crate::hot::hot;
use crate::neutral_stack::deep;
use crate::scheduling::fiber::current;
use alloc::vec::Vec;
use corefold_block::{Code, Found, Place, cost_at};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Entries of an inner loop until its trip count is known.
const ENTRIES: u32 = 64;
/// Visits of a block after which its cost is fixed in any case.
const VISITS: u32 = 4096;
/// Visits of a block until it counts where its function is called from: a program calls some first where it begins.
const CALLS: u32 = 1024;

struct TripCounts {
    /// By the block of the loop.
    loops: HashMap<u64, Inner, FxBuildHasher>,
    /// Blocks that wait for it.
    waiting: HashMap<u64, Waiting, FxBuildHasher>,
}

static TRIP_COUNTS: Carrier<TripCounts> = Carrier::new(TripCounts {
    loops: HashMap::with_hasher(FxBuildHasher),
    waiting: HashMap::with_hasher(FxBuildHasher),
});

#[derive(Clone, Copy, Default)]
struct Inner {
    visits: u32,
    entries: u32,
    known: bool,
}

impl Inner {
    /// The block is visited, from elsewhere if it is `entered`.
    fn visit(&mut self, entered: bool) {
        self.known |= (entered && self.entries == ENTRIES) || self.visits == VISITS;
        if !self.known {
            self.visits += 1;
            self.entries += u32::from(entered);
        }
    }

    fn trip_count(&self) -> u32 {
        let entries = self.entries.max(1);
        (self.visits + entries / 2) / entries
    }
}

struct Waiting {
    /// None: for its caller.
    inner: Option<u64>,
    /// What the block costs meanwhile, called from there.
    cost: Cost,
    returns_to: Option<u64>,
    visits: u32,
}

/// A block's packed cost, and the blocks whose branches decide it, too.
#[derive(Default)]
pub struct Cost {
    pub packed: u32,
    pub around: Vec<u64>,
}

/// The packed cost of a visit of the block at `pc` that is not known yet; or what it costs from now on.
pub fn visit(code: &impl Code, pc: u64) -> Result<Cost, u32> {
    TRIP_COUNTS.with(|counts| counts.visit(code, pc))
}

impl TripCounts {
    fn visit(&mut self, code: &impl Code, pc: u64) -> Result<Cost, u32> {
        let block = match self.waiting.get_mut(&pc) {
            Some(block) => block,
            None => {
                let found = cost_of(code, here(pc, None));
                let (inner, cost, returns_to) = (found.inner, Cost::of(found), caller());
                if inner.is_none() && returns_to.is_none() {
                    return Ok(cost);
                }
                self.waiting.entry(pc).or_insert(Waiting { inner, cost, returns_to, visits: 0 })
            }
        };
        block.visits += 1;
        let Some(inner) = block.inner else {
            // Most visits of a spin's blocks are skipped: they do not count.
            if block.visits < CALLS && !current().spins.with(|spins| spins.spinning()) {
                return Err(block.cost.packed);
            }
            let alike = caller() == block.returns_to && block.cost.around.iter().all(|pc| code.bias(*pc).is_none());
            let cost = core::mem::take(&mut block.cost);
            self.waiting.remove(&pc);
            return Ok(if alike { cost } else { Cost::of(cost_of(code, here(pc, None))) });
        };
        let before = current().last_unknown.replace(pc);
        let counted = self.loops.entry(inner).or_default();
        if inner == pc {
            counted.visit(before != pc);
        }
        if !counted.known && block.visits <= VISITS {
            return Err(block.cost.packed);
        }
        let trip_count = Some(counted.trip_count());
        let cost = core::mem::take(&mut block.cost);
        self.waiting.remove(&pc);
        Ok(if inner == pc { Cost::of(cost_of(code, here(pc, trip_count))) } else { cost })
    }
}

impl Cost {
    pub fn of(found: Found) -> Cost {
        Cost { packed: packed(found.cost.sixteenths.max(1)), around: found.around }
    }
}

pub fn cost_of(code: &impl Code, place: Place) -> Found {
    deep(|| cost_at(code, place, &core()))
}

fn here(head: u64, trip_count: Option<u32>) -> Place {
    Place { head, returns_to: caller(), trip_count }
}

/// The trip count of the block, if it is an inner loop whose trip count decided its cost.
pub fn of_loop(pc: u64) -> Option<u32> {
    TRIP_COUNTS.with(|counts| counts.loops.get(&pc).filter(|inner| inner.visits > 0).map(Inner::trip_count))
}

/// Where the running function returns to.
pub fn caller() -> Option<u64> {
    current().calls(hot().frames.get()).next()
}
