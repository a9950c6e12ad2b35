// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that poll a word on a line of their own, which nobody has written to: such reads are inline, so that no spin
//! is seen in them. Now and then some are shown: a thread that polls for ever has to be found out.
use crate::engine::engine;
use crate::hooks::access::{looked, plain_read};
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::{neutral_stack::ProgramMemory, sched, spin_skip::skip};
use crate::state::hooks::Polls;
use corefold_model::ticks;
use corefold_recording::AccessKind;
use corefold_sim::Memory;

/// Cycles from one check of a thread to the next.
const EVERY: u32 = 4_000_000;
/// Reads in a row that continue no spin: it does something else.
const OTHERS: u8 = 64;

/// To be called at times that do not depend on samples. A thread that polls while a timer is set waits for that.
pub fn check() {
    let clock = hot!().clock;
    let polls = &mut current().polls;
    if clock < polls.next || !engine().sim.timers.is_empty() {
        return;
    }
    let first = polls.next == 0;
    *polls = Polls { next: clock + ticks(EVERY), on: !first, others: 0 };
    sched::show_reads(!first);
}

/// The running thread, whose reads are shown, is about to read on a line of its own.
#[cold]
pub fn look(address: u64, pc: u64, size: u64) {
    if size > 8 {
        return;
    }
    looked(address, pc, size as u8, ProgramMemory.read(address, size as u8), AccessKind::Read, false);
    let fiber = current();
    fiber.polls.others = if fiber.spins.spinning() { 0 } else { fiber.polls.others + 1 };
    if fiber.polls.others > OTHERS {
        fiber.polls.on = false;
        sched::show_reads(false);
    } else if fiber.spins.is_steady(pc) && skip() {
        plain_read(address, pc, size);
    }
}
