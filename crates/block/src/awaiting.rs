// SPDX-License-Identifier: MIT OR Apache-2.0
//! What computes with a result that is not there yet: that of an update of memory whose line is on its way.
use crate::op::{Kind, Op};
use crate::path::Path;
use crate::set::{FLAGS, PLACES, Place, SLOTS, Set};
use crate::walk::walk;
use crate::{Code, Core};

/// The registers that wait for it. What was put on the stack is not followed from block to block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Awaiting(Set);

impl Awaiting {
    /// Where a call leaves its result: rax.
    const RESULT: Place = 0;

    /// Another update comes whose result is not there yet, as a call.
    pub fn and_result(self) -> Awaiting {
        Awaiting(self.0.without(Set::CALLER_SAVED).union(Set::one(Awaiting::RESULT)))
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// What waits after the code from `head` to the next block, and the cycles that the longest chain of it takes once the
    /// result is there. Branches do not wait: they are predicted.
    pub fn after(self, code: &impl Code, head: u64, core: &Core) -> (Awaiting, u32) {
        let mut waits = [None; PLACES];
        self.0.iter().for_each(|place| waits[usize::from(place)] = Some(0));
        let mut longest = 0;
        for op in &Path::hooked(&walk(code, head).steps, core).ops {
            let latest = |set: Set| set.iter().filter_map(|place| waits[usize::from(place)]).max();
            let done = latest(op.reads.union(op.address)).map(|since| since + latency(op, core));
            longest = longest.max(done.filter(|_| computes(op)).unwrap_or(0));
            op.writes.iter().for_each(|place| waits[usize::from(place)] = done);
        }
        let mut left = Set::EMPTY;
        (0..SLOTS).filter(|&place| waits[usize::from(place)].is_some()).for_each(|place| left.insert(place));
        (Awaiting(left), longest)
    }
}

/// Whether what the operation gives is more than an answer that branches ask for.
fn computes(op: &Op) -> bool {
    !matches!(op.kind, Kind::Branch { .. }) && !op.writes.without(Set::one(FLAGS)).is_empty()
}

fn latency(op: &Op, core: &Core) -> u32 {
    match op.kind {
        Kind::Branch { .. } | Kind::Copy | Kind::Call | Kind::Hook(_) => 0,
        Kind::Pure | Kind::Effect => u32::from(op.timing.latency) + if op.load.is_some() { core.load } else { 0 },
    }
}
