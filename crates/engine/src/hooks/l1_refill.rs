// SPDX-License-Identifier: MIT OR Apache-2.0
//! L1 refill: plain accesses to lines that the running CPU has alone, and that have left its first-level cache. They
//! are most of the slow path's calls where data is private to threads. No other CPU can observe one, so no other has to
//! run first, none has a store pending there, none skips a spin on the line, and no thread spins on the word.
use crate::engine::{engine, tag_of};
use crate::hooks::access::{account, bring_pair, finish_earlier, mark_left, origin};
use crate::hooks::hot::hot;
use corefold_model::{Access, Kind, Tag};
use corefold_recording::AccessKind;

/// Serves the access if it is one of these.
#[inline]
pub fn fetched(address: u64, pc: u64, size: u64, kind: Kind, what: AccessKind) -> bool {
    let tag = tag_of(address);
    if !tag.has_left_of(hot!().tag) {
        return kind == Kind::Store && modified_again(tag);
    }
    let engine = engine();
    let cpu = engine.sim.cpu as u32;
    if engine.sim.cpus[cpu as usize].run_ahead.is_ahead() {
        return false;
    }
    let asked = hot!().clock;
    if !engine.sim.model.let_go(cpu, asked) {
        finish_earlier(cpu, address, kind);
        if hot!().clock != asked {
            hot!().clock = engine.sim.model.retire(cpu, hot!().clock);
        }
    }
    let access = Access { cpu, address, size: size as u32, kind, origin: origin(pc, what, size as u32) };
    let outcome = engine.sim.model.fetch_own(tag, &access, hot!().clock);
    if let Some(other) = engine.sim.model.pair_of(address, &outcome)
        && !tag_of(other).is_of(hot!().tag)
    {
        bring_pair(other, cpu);
    }
    if engine.sim.model.any_left() {
        mark_left(cpu, kind);
    }
    hot!().clock = outcome.done;
    account(pc, what, *tag, &access, &outcome, asked);
    true
}

/// The first store to a line after its refill, if it was modified before: it costs what the next one does.
#[inline]
fn modified_again(tag: &mut Tag) -> bool {
    let again = tag.is_below_of(hot!().tag);
    if again {
        *tag = tag.modified();
    }
    again
}
