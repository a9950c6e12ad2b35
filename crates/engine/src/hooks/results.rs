// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mfence` where it waits for the results of all earlier instructions (`core.fence_serializes`). From the first one on, a block
//! whose results come later than its end, or that has an `mfence` or returns, takes the slow path at each visit, and notes when
//! they will be there.
use crate::carrier::Carrier;
use crate::code::cost::core;
use crate::code::mapped::Mapped;
use crate::engine::launch;
use crate::hot::hot;
use crate::neutral_stack::deep;
use crate::scheduling::fiber::current;
use corefold_block::Results;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Less is not worth the slow path.
const LEAST: u32 = 2 * TICKS_PER_CYCLE as u32;

struct Known {
    /// There has been an `mfence`.
    awaited: bool,
    /// By block, and where its function returns to.
    results: HashMap<(u64, u64), Results, FxBuildHasher>,
}

static KNOWN: Carrier<Known> = Carrier::new(Known { awaited: false, results: HashMap::with_hasher(FxBuildHasher) });

/// The running thread is at an `mfence`. Returns whether it is the first, so that blocks are to be learnt again.
pub fn mfence() -> bool {
    let core = &launch().machine.core;
    if !core.fence_serializes || !core.chains {
        return false;
    }
    let first = KNOWN.with(|known| !core::mem::replace(&mut known.awaited, true));
    let until = current().results_until.take();
    hot().clock.set(hot().clock.get().max(until));
    first
}

/// Is each visit of the block to note its results?
pub fn matter(pc: u64) -> bool {
    let results = if KNOWN.with(|known| known.awaited) { of(pc) } else { Results::default() };
    results.to_fence || results.returns || results.left >= LEAST
}

/// The running thread is at the head of such a block.
pub fn begin(pc: u64) {
    let until = hot().clock.get() + Ticks::from(of(pc).after);
    let fiber = current();
    fiber.results_until.set(fiber.results_until.get().max(until));
}

fn of(pc: u64) -> Results {
    let returns_to = current().calls(hot().frames.get()).next();
    let key = (pc, returns_to.unwrap_or(0));
    match KNOWN.with(|known| known.results.get(&key).copied()) {
        Some(results) => results,
        None => {
            let results = deep(|| corefold_block::results(&Mapped, pc, returns_to, &core()));
            KNOWN.with(|known| known.results.insert(key, results));
            results
        }
    }
}

/// Code has been unmapped.
pub fn forget() {
    KNOWN.with(|known| known.results.clear());
}
