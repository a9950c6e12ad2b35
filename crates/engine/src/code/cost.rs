// SPDX-License-Identifier: MIT OR Apache-2.0
//! What code costs on the simulated core.
use crate::code::mapped::Mapped;
use crate::code::modules;
use crate::engine::charge;
use crate::engine::{beside_sibling, launch};
use crate::hot::hot;
use crate::layout::{BLOCK_COSTS, BLOCK_MASK};
use corefold_block::{Core, inline};

/// Ticks that the block at `pc` takes on the running CPU; 0 if no block is known there. Not for hot paths.
pub fn cost(pc: u64) -> u64 {
    let entry = inline::cell_before(&Mapped, pc).unwrap_or(BLOCK_COSTS + (pc & BLOCK_MASK));
    // SAFETY: a cell of the program's own, or a place in the table, which covers every value of the mask.
    let cost = unsafe { (entry as *const u32).read() };
    u64::from(cost >> (hot().cost_half.get() * 8) & 0xffff)
}

/// Whether the block at `pc` calls code that is not instrumented. Not for hot paths.
pub fn calls_unseen(pc: u64) -> bool {
    let is_runtime = |target| !modules::holds(target);
    corefold_block::calls_unhooked(&Mapped, pc, is_runtime)
}

/// The core parameters that the cost of code depends on.
pub fn core() -> Core {
    let core = &launch().machine.core;
    Core {
        width: core.width.max(1),
        pause: core.pause,
        rmw: core.rmw,
        fence: core.fence,
        load: core.load,
        forward: core.forward,
        renamed: core.renamed,
        renamed_indexed: core.renamed_indexed,
        renamed_twice: core.renamed_twice,
        reload: core.reload,
        window: core.window,
        scheduler: core.scheduler,
        chains: core.chains,
        taken_branch: core.taken_branch,
    }
}

/// Ticks of the block with a core of its own in the low half, beside a busy sibling in the high one.
pub fn packed(sixteenths: u32) -> u32 {
    let alone = sixteenths.min(0x3fff);
    alone | (beside_sibling(alone.into()).min(0xffff) as u32) << 16
}

/// Cycles of a call for a few bytes: the call, the dispatch by size, the head and tail.
const CALL: u32 = 10;

/// What a core copies in a cycle from and to its first-level cache, with vector instructions.
const BYTES_A_CYCLE: u64 = 32;

/// The compute time for so many bytes.
pub fn work(bytes: u64) {
    charge(CALL.saturating_add((bytes / BYTES_A_CYCLE).min(u64::from(u32::MAX)) as u32));
}
