// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each basic block costs: computed when it is first reached or, in and around an inner loop, when its trip count
//! is known (`trip_counts`), and when its branch's misprediction rate is known (`branches`). Kept in a table by its
//! address.
use crate::engine::active;
use crate::hooks::branches;
use crate::hot::hot;
use crate::layout::{BLOCK_COSTS, BLOCK_MASK};

/// The block that returns to `pc` is reached for the first time.
pub extern "C" fn unknown_block(pc: u64) {
    learn((BLOCK_COSTS + (pc & BLOCK_MASK)) as *mut u32, pc);
}

/// Computes the block's cost, fills its `entry` if that is known, and charges it.
pub fn learn(entry: *mut u32, pc: u64) {
    let (cost, known) = if active() { branches::visit(entry, pc) } else { (NATIVE, true) };
    if known {
        // SAFETY: a place in the table, which covers every value of the mask, or a cell of the program's own.
        unsafe { entry.write(cost) };
    }
    let hot = hot();
    if active() {
        hot.spend(u64::from(cost >> (hot.cost_half.get() * 8) & 0xffff));
        if hot.is_over() {
            crate::hooks::limit::at_limit(pc);
        }
    }
}

/// The block that begins at `pc` is reached, from code whose registers are safe.
pub fn visit(pc: u64) {
    let entry = (BLOCK_COSTS + (pc & BLOCK_MASK)) as *mut u32;
    // SAFETY: the table covers every value of the mask.
    let cost = unsafe { entry.read() };
    if cost == 0 {
        return learn(entry, pc);
    }
    let hot = hot();
    hot.spend(u64::from(cost >> (hot.cost_half.get() * 8) & 0xffff));
    if hot.is_over() {
        crate::hooks::limit::at_limit(pc);
    }
}

/// Any cost but 0: the block is known, and where nothing is simulated that is all that matters.
const NATIVE: u32 = 0x0001_0001;
