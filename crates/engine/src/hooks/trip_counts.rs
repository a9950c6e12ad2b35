// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trip counts of inner loops: iterations of the loop around one overlap, so its block's cost depends on them. Until
//! enough visits are seen, its block and those around it have no known cost, and each of their visits calls this module.
use crate::carrier::Carrier;
use crate::code::cost::{core, packed};
use crate::code::mapped::Mapped;
use crate::hot::hot;
use crate::neutral_stack::deep;
use crate::scheduling::fiber::current;
use corefold_block::{Bias, Found, Place, cost_at};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Entries of an inner loop until its trip count is known.
const ENTRIES: u32 = 64;
/// Visits of a block after which its cost is fixed in any case.
const VISITS: u32 = 4096;

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

#[derive(Clone, Copy)]
struct Waiting {
    inner: u64,
    /// What the block costs meanwhile.
    cost: u32,
    visits: u32,
}

/// The packed cost of a visit of the block at `pc` that is not known yet, and whether it is known now.
pub fn visit(pc: u64) -> (u32, bool) {
    TRIP_COUNTS.with(|counts| counts.visit(pc))
}

impl TripCounts {
    fn visit(&mut self, pc: u64) -> (u32, bool) {
        let block = match self.waiting.get_mut(&pc) {
            Some(block) => block,
            None => match first(pc) {
                Ok(cost) => return (cost, true),
                Err(block) => self.waiting.entry(pc).or_insert(block),
            },
        };
        block.visits += 1;
        let Waiting { inner, cost, visits } = *block;
        let before = current().last_unknown.replace(pc);
        let counted = self.loops.entry(inner).or_default();
        if inner == pc {
            counted.visit(before != pc);
        }
        let counted = *counted;
        if !counted.known && visits <= VISITS {
            return (cost, false);
        }
        self.waiting.remove(&pc);
        (if inner == pc { known(pc, counted.trip_count()) } else { cost }, true)
    }
}

/// What the block costs, unless that depends on a trip count.
fn first(pc: u64) -> Result<u32, Waiting> {
    let found = cost_of(place(pc, None));
    let cost = packed(found.cost.sixteenths.max(1));
    found.inner.map_or(Ok(cost), |inner| Err(Waiting { inner, cost, visits: 0 }))
}

fn known(pc: u64, trip_count: u32) -> u32 {
    packed(cost_of(place(pc, Some(trip_count))).cost.sixteenths.max(1))
}

/// What the block costs with this branch bias; none if that depends on its own trip count.
pub fn biased(pc: u64, bias: Bias) -> Option<u32> {
    let found = cost_of(Place { bias: Some(bias), ..place(pc, None) });
    (found.inner != Some(pc)).then(|| packed(found.cost.sixteenths.max(1)))
}

fn cost_of(place: Place) -> Found {
    deep(|| cost_at(&Mapped, place, &core()))
}

fn place(head: u64, trip_count: Option<u32>) -> Place {
    Place { head, returns_to: current().calls(hot().frames.get()).next(), trip_count, bias: None }
}
