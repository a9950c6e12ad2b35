// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retry loops: every exit depends on the result of an atomic operation.
use crate::op::{Kind, Op};
use crate::path::Path;
use crate::set::Set;
use crate::walk::Step;
use crate::{Core, Hook};
use alloc::vec::Vec;
use iced_x86::FlowControl;

/// Whether the loop `round` repeats only as long as atomic operations on the same words do not
/// succeed: a lock that is taken, a comparison that fails. (A walk along a list goes on to other words.)
pub fn is_retry_loop(round: &[Step], core: &Core) -> bool {
    let announced: Vec<u64> = round.iter().filter(|s| matches!(s, Step::Announced(_))).map(Step::ip).collect();
    let path = Path::hooked(round.iter().chain(round), core);
    let looks = |op: &Op| looks(op) || announced.contains(&op.instruction.ip());
    let looked: Vec<&Op> = path.ops.iter().filter(|op| looks(op)).collect();
    let stays = |op: &&Op| {
        let same = |other: &&&Op| other.instruction.ip() == op.instruction.ip();
        looked.iter().filter(same).all(|other| (other.load, other.locked) == (op.load, op.locked))
    };
    !looked.is_empty() && looked.iter().all(stays) && all_branches_hang_on(&path.ops, looks)
}

fn looks(op: &Op) -> bool {
    matches!(op.kind, Kind::Hook(hook) if hook.is_update() || hook == Hook::AtomicLoad)
}

/// Whether a branch of the block hangs on what an atomic update found.
pub fn hangs_on_updates(block: &[Step], core: &Core) -> bool {
    let path = Path::hooked(block, core);
    branches(&path.ops, |op| op.locked.is_some() || matches!(op.kind, Kind::Hook(hook) if hook.is_update()))
        .contains(&true)
}

/// Whether the conditions of all branches are made of what the operations found that `looks` tells.
fn all_branches_hang_on(ops: &[Op], looks: impl Fn(&Op) -> bool) -> bool {
    !branches(ops, looks).contains(&false)
}

/// The same of each conditional branch.
fn branches(ops: &[Op], looks: impl Fn(&Op) -> bool) -> Vec<bool> {
    let mut found = Set::EMPTY;
    let mut hang = Vec::new();
    for op in ops {
        if op.instruction.flow_control() == FlowControl::ConditionalBranch {
            hang.push(op.reads.meets(found));
        }
        if looks(op) || op.reads.meets(found) {
            found = found.union(op.writes);
        } else {
            found = found.without(op.writes);
        }
    }
    hang
}
