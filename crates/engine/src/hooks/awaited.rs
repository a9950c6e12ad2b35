// SPDX-License-Identifier: MIT OR Apache-2.0
//! Run-ahead, block by block: while an update of memory waits for its line, the core executes of the code behind it what
//! fits into its reorder buffer, but for what computes with the update's result.
use crate::carrier::Carrier;
use crate::code::cost::core;
use crate::code::mapped::Mapped;
use crate::engine::launch;
use crate::hooks::branches;
use crate::neutral_stack::deep;
use crate::scheduling::fiber::current;
use crate::scheduling::run_ahead;
use corefold_block::Awaiting;
use corefold_model::{Ticks, ticks};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

type Known = HashMap<(u64, Awaiting), (Awaiting, u32), FxBuildHasher>;
/// What waits after the code from an address to the next block, by what did before, and for how long.
static KNOWN: Carrier<Known> = Carrier::new(HashMap::with_hasher(FxBuildHasher));

/// An update of memory that ends at `pc` has been done; `goes_on`: the core was ahead before it.
#[inline]
pub fn updated(cpu: u32, pc: u64, goes_on: bool) {
    if run_ahead::is_ahead(cpu) {
        let before = if goes_on { current().awaiting.get() } else { Awaiting::default() };
        current().awaiting.set(after(before.and_result(), pc).0);
    }
}

/// The block at `pc` has been computed.
pub fn computed(cpu: u32, pc: u64) {
    if run_ahead::is_ahead(cpu) {
        let issue = ticks(branches::instructions(pc)) / Ticks::from(launch().machine.core.width.max(1));
        let (awaiting, longest) = after(current().awaiting.get(), pc);
        current().awaiting.set(awaiting);
        run_ahead::computed(cpu, issue, ticks(longest));
    }
}

fn after(awaiting: Awaiting, pc: u64) -> (Awaiting, u32) {
    if awaiting.is_empty() {
        return (awaiting, 0);
    }
    if let Some(known) = KNOWN.with(|known| known.get(&(pc, awaiting)).copied()) {
        return known;
    }
    let after = deep(|| awaiting.after(&Mapped, pc, &core()));
    KNOWN.with(|known| known.insert((pc, awaiting), after));
    after
}

/// Code has been unmapped: other code may come to lie there.
pub fn forget(gone: impl Fn(u64) -> bool) {
    KNOWN.with(|known| known.retain(|(pc, _), _| !gone(*pc)));
}
