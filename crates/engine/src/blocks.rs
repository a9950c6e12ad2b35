//! What each basic block costs: worked out when it is first reached, kept in a table by its address.
use crate::engine::{active, engine};
use crate::hot::hot;
use crate::layout::{BLOCK_COSTS, BLOCK_MASK};

/// The block that returns to `pc` is reached for the first time.
pub extern "C" fn unknown_block(pc: u64) {
    let entry = (BLOCK_COSTS + (pc & BLOCK_MASK)) as *mut u32;
    let cost = if active() { packed_cost(pc) } else { 0x0001_0001 };
    // SAFETY: the table covers every value of the mask.
    unsafe { entry.write(cost) };
    let hot = hot!();
    if active() {
        hot.clock += u64::from(cost >> hot.cost_shift & 0xffff);
        if hot.clock >= hot.limit {
            crate::sched::at_limit(pc);
        }
    }
}

/// Ticks of the block with a core of its own in the low half, beside a busy sibling in the high one.
fn packed_cost(pc: u64) -> u32 {
    let machine = &engine().launch.machine;
    let alone = block_ticks(pc).clamp(1, 0x3fff);
    let shared = alone * u32::from(machine.threads_per_core) * 100 / machine.core.smt_percent.max(1);
    alone | shared.clamp(alone, 0xffff) << 16
}

fn block_ticks(_pc: u64) -> u32 {
    32
}
