// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each basic block costs: computed when it is first reached or, in and around an inner loop, when its trip count
//! is known (`rounds`), and when its branch's misprediction rate is known (`branches`). Kept in a table by its
//! address.
use crate::engine::{active, beside_sibling, engine};
use crate::hooks::branches;
use crate::hooks::hot::{self, hot};
use crate::layout::{BLOCK_COSTS, BLOCK_MASK};
use corefold_block::{Code, Core, Hook, inline};
use corefold_recording::Module;

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
    let hot = hot!();
    if active() {
        hot.clock += u64::from(cost >> (hot.cost_half * 8) & 0xffff);
        if hot.clock >= hot.limit {
            crate::scheduling::sched::at_limit(pc);
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
    let hot = hot!();
    hot.clock += u64::from(cost >> (hot.cost_half * 8) & 0xffff);
    if hot.clock >= hot.limit {
        crate::scheduling::sched::at_limit(pc);
    }
}

/// Ticks that the block at `pc` takes on the running CPU; 0 if no block is known there. Not for hot paths.
pub fn cost(pc: u64) -> u64 {
    let entry = inline::cell_before(&Mapped, pc).unwrap_or(BLOCK_COSTS + (pc & BLOCK_MASK));
    // SAFETY: a cell of the program's own, or a place in the table, which covers every value of the mask.
    let cost = unsafe { (entry as *const u32).read() };
    u64::from(cost >> (hot!().cost_half * 8) & 0xffff)
}

/// Whether the block at `pc` calls code that is not instrumented. Not for hot paths.
pub fn calls_unseen(pc: u64) -> bool {
    let is_runtime = |target| !engine().modules.iter().any(|m| (m.start..m.end).contains(&target));
    corefold_block::calls_unhooked(&Mapped, pc, is_runtime)
}

/// Any cost but 0: the block is known, and where nothing is simulated that is all that matters.
const NATIVE: u32 = 0x0001_0001;

/// The core parameters that the cost of code depends on.
pub fn core() -> Core {
    let corefold_model::Core {
        width,
        pause,
        rmw,
        fence,
        forward,
        renamed,
        reload,
        window,
        scheduler,
        taken_branch,
        ..
    } = engine().launch.machine.core;
    Core { width: width.max(1), pause, rmw, fence, forward, renamed, reload, window, scheduler, taken_branch }
}

/// Ticks of the block with a core of its own in the low half, beside a busy sibling in the high one.
pub fn packed(sixteenths: u32) -> u32 {
    let alone = sixteenths.min(0x3fff);
    alone | (beside_sibling(alone.into()).min(0xffff) as u32) << 16
}

/// The process's own code.
pub struct Mapped;

impl Code for Mapped {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        let engine = engine();
        let holds = |m: &Module| (m.start..m.end).contains(&address);
        if !engine.modules.iter().any(holds) {
            // Code also jumps to addresses in no file: only a newly loaded file is worth another search.
            let generation = crate::account::modules::generation();
            if generation != engine.modules_as_of {
                crate::account::modules::refresh(&mut engine.modules);
                engine.modules_as_of = generation;
            }
        }
        let Some(module) = engine.modules.iter().find(|m| holds(m)) else { return &[] };
        let len = len.min((module.end - address) as usize);
        // SAFETY: within a mapped module; its code and its GOT are readable.
        unsafe { core::slice::from_raw_parts(address as *const u8, len) }
    }

    fn hook(&self, target: u64) -> Option<Hook> {
        if target == hot::__sanitizer_cov_trace_pc as *const () as u64 {
            return Some(Hook::Block);
        }
        let hooks = &mut engine().hooks;
        if hooks.is_empty() {
            *hooks = crate::account::modules::hooks();
        }
        hooks.binary_search_by_key(&target, |(address, _)| *address).ok().map(|at| hooks[at].1)
    }
}
