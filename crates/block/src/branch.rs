// SPDX-License-Identifier: MIT OR Apache-2.0
//! Branches that a core has to predict.
use crate::op::{Kind, Op};
use crate::path::Path;
use crate::retry_loop::hangs_on_updates;
use crate::walk::{Walk, walk};
use crate::{Code, Core};
use alloc::vec::Vec;

/// Operations that compilers carry out on both paths, rather than branch around them.
const MOST_FOLDED: usize = 2;

/// The two blocks that may follow the one whose hook returns to `head`, if a branch decides which. Not one that an
/// atomic update decides, which is a matter of what other threads do; nor one that stands there only because the arms
/// have hooks: without them, compilers compute both and choose.
pub fn paths(code: &impl Code, head: u64, core: &Core) -> Option<[u64; 2]> {
    let block = walk(code, head);
    if block.exits.is_empty() || hangs_on_updates(&block.steps, core) {
        return None;
    }
    let mut paths: Vec<u64> = Vec::new();
    for path in block.exits.iter().map(|exit| walk(code, exit.address).next).chain([block.next]) {
        let path = path?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let paths: [u64; 2] = paths.try_into().ok()?;
    (!folds(paths, paths.map(|path| walk(code, path)), core)).then_some(paths)
}

/// Whether the paths only give registers different values before they join.
fn folds(heads: [u64; 2], [first, second]: [Walk; 2], core: &Core) -> bool {
    let one = |arm: &Walk, other: u64| arm.next == Some(other) && is_small(arm, core);
    let both = first.next.is_some() && first.next == second.next;
    one(&first, heads[1]) || one(&second, heads[0]) || both && is_small(&first, core) && is_small(&second, core)
}

fn is_small(arm: &Walk, core: &Core) -> bool {
    let path = Path::hooked(&arm.steps, core);
    let computes = |op: &&Op| op.kind == Kind::Pure && op.instructions > 0;
    let registers = |op: &Op| match op.kind {
        Kind::Pure | Kind::Copy => op.load.is_none(),
        Kind::Branch { .. } => true,
        Kind::Hook(hook) => hook == crate::Hook::Block,
        Kind::Effect | Kind::Call => false,
    };
    arm.exits.is_empty() && path.ops.iter().all(registers) && path.ops.iter().filter(computes).count() <= MOST_FOLDED
}
