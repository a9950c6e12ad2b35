//! An out-of-order core in small: instructions issue in order, `width` a cycle, start when their operands
//! are there, and retire in order from a buffer of limited length. Execution units are without limit but
//! for the divider.
use crate::Core;
use crate::op::Op;
use crate::path::Path;
use crate::set::PLACES;
use crate::values::Address;
use crate::walk::Step;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Time is kept in whole parts of a cycle that the usual widths divide.
pub const TICKS: u64 = 240;
/// Instructions between issue and retirement: Skylake's reorder buffer.
const REORDER: usize = 224;
/// Rounds of a loop are simulated until about this many instructions have run.
const LOOP_OPS: usize = 400;

pub fn sixteenths(ticks: u64) -> u32 {
    (ticks * 16).div_ceil(TICKS) as u32
}

/// Time from the first issue to the last result.
pub fn run<'a>(ops: impl Iterator<Item = &'a Op>, core: &Core) -> u64 {
    let mut pipeline = Pipeline::new(core);
    ops.for_each(|op| pipeline.step(op));
    pipeline.retired
}

/// Time of a round of the loop `steps`, once it has settled.
pub fn steady(steps: &[Step], core: &Core) -> u64 {
    let rounds = (LOOP_OPS / steps.len().max(1)).clamp(4, 64) & !1;
    let repeated = core::iter::repeat_n(steps, rounds).flatten();
    let path = Path::hooked(repeated, core);
    let half = path.ops.len() / 2;
    let mut pipeline = Pipeline::new(core);
    path.ops[..half].iter().for_each(|op| pipeline.step(op));
    let middle = pipeline.retired;
    path.ops[half..].iter().for_each(|op| pipeline.step(op));
    (pipeline.retired - middle) * 2 / rounds as u64
}

struct Pipeline {
    issued: u64,
    slot: u64,
    retired: u64,
    divider: u64,
    ready: [u64; PLACES],
    stores: BTreeMap<Address, u64>,
    reorder: Vec<u64>,
    next: usize,
}

impl Pipeline {
    fn new(core: &Core) -> Pipeline {
        Pipeline {
            issued: 0,
            slot: TICKS / u64::from(core.width),
            retired: 0,
            divider: 0,
            ready: [0; PLACES],
            stores: BTreeMap::new(),
            reorder: alloc::vec![0; REORDER],
            next: 0,
        }
    }

    fn step(&mut self, op: &Op) {
        let issue = self.issue(op);
        let done = self.execute(op, issue);
        for place in op.writes.iter() {
            self.ready[usize::from(place)] = done;
        }
        if let Some(address) = op.store {
            self.stores.insert(address, done);
        }
        self.retire(done);
    }

    /// Takes the issue slots of `op`; copies and what was left out take none, and wait for none.
    fn issue(&mut self, op: &Op) -> u64 {
        self.issued = self.issued.max(self.reorder[self.next]);
        self.issued += u64::from(op.timing.slots) * self.slot + u64::from(op.timing.serial) * TICKS;
        self.issued
    }

    fn execute(&mut self, op: &Op, issue: u64) -> u64 {
        let latest = |set: crate::set::Set| set.iter().map(|place| self.ready[usize::from(place)]).max();
        let mut start = issue.max(latest(op.reads).unwrap_or(0));
        if let Some(address) = op.load {
            let addressed = issue.max(latest(op.address).unwrap_or(0));
            let stored = self.stores.get(&address).copied().unwrap_or(0);
            start = start.max(addressed.max(stored) + u64::from(op.load_latency()) * TICKS);
        }
        if op.timing.divider > 0 {
            start = start.max(self.divider);
            self.divider = start + u64::from(op.timing.divider) * TICKS;
        }
        start + u64::from(op.timing.latency) * TICKS
    }

    fn retire(&mut self, done: u64) {
        self.retired = self.retired.max(done);
        self.reorder[self.next] = self.retired;
        self.next = (self.next + 1) % REORDER;
    }
}
