// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code that has hooks at its accesses and none at its blocks, as plain `-fsanitize=thread` makes it. What
//! it computes is estimated from hook to hook: its calls of hooks go by way of `passes`, `enters` and
//! `exits` first (`detour`, `modules`). Other code never comes here.
mod detour;
mod modules;
mod trampolines;

use modules::ESTIMATES;
pub use modules::{holds, notes};

use crate::code::cost::{core, packed};
use crate::code::mapped::Mapped;
use crate::engine::active;
use crate::hot::hot;
use crate::neutral_stack::deep;
use crate::scheduling::fiber::current;
use crate::scheduling::outside;
use crate::state::hooks::return_address;
use corefold_block::{Code, Hook, LEAVES, Pairs, between};

extern "C" fn passes(pc: u64) {
    if active() {
        charge(current().trail.with(|trail| trail.pass(pc)), pc);
    }
}

extern "C" fn enters(pc: u64, returns_to: u64) {
    if active() {
        charge(current().trail.with(|trail| trail.enter(pc, returns_to)), pc);
    }
}

extern "C" fn exits(pc: u64) {
    if active() {
        let frames = hot().frames.get();
        // SAFETY: the hook of the function's entry has put its return address there.
        let returns_to = return_address(unsafe { frames.sub(1).read() });
        charge(current().trail.with(|trail| trail.exit(pc, returns_to)), pc);
    }
}

fn charge(pairs: Pairs, pc: u64) {
    let hot = hot();
    for (from, to) in pairs.into_iter().flatten() {
        let known = ESTIMATES.with(|known| known.get(&(from, to)).copied());
        let cost = known.unwrap_or_else(|| learn(from, to));
        hot.spend(u64::from(cost >> (hot.cost_half.get() * 8) & 0xffff));
    }
    if hot.is_over() {
        crate::hooks::limit::at_limit(pc);
        // There is no hook at a block that would: the compiler takes this one for a call that changes what it
        // must, so that a handler may run here.
        outside::look_if_due(pc);
    }
}

/// The last hook that the running thread came by, if `pc` is in code that has none at blocks; else 0.
pub fn last_hook(pc: u64) -> u64 {
    if modules::holds(pc) { current().trail.with(|trail| trail.last()) } else { 0 }
}

/// Any address that is no code.
const NOWHERE: u64 = 1;

/// Costs what the code takes as far as it is code of this kind: a callback may return to libc, and a
/// function of a program that has hooks at its blocks may be called from here.
fn learn(from: u64, to: u64) -> u32 {
    let end = if to == LEAVES { from } else { to };
    let cost = if modules::holds(end) {
        let from = if modules::holds(from) { from } else { NOWHERE };
        packed(deep(|| between(&Estimated, from, to, &core())).sixteenths)
    } else {
        0
    };
    ESTIMATES.with(|known| known.insert((from, to), cost));
    cost
}

/// The process's own code, with the hooks that come by here.
struct Estimated;

impl Code for Estimated {
    fn bytes(&self, address: u64, len: usize) -> &[u8] {
        Mapped.bytes(address, len)
    }

    fn hook(&self, target: u64) -> Option<Hook> {
        trampolines::kind(target)
    }
}
