// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain accesses that are not a hit on a private line, and the accounting that all accesses share.
use crate::counts::lock_table::LOCKS;
use crate::engine::{active, lend_sim, running_cpu};
use crate::hooks::delays;
use crate::hooks::l1_refill;
use crate::hooks::settle::settle;
use crate::hooks::skip::{skip, skip_turns};
use crate::hot::{TRIED, WROTE, hot};
use crate::scheduling::fiber::current;
use crate::scheduling::program_memory::ProgramMemory;
use crate::scheduling::shown;
use crate::scheduling::shown::show_reads;
use crate::scheduling::spin::Found;
use crate::scheduling::store_buffer;
use crate::scheduling::trace;
use crate::scheduling::unhooked;
use crate::scheduling::{perturb, sched};
use crate::state::scheduler::SCHED;
use crate::storage::relayout::simulated;
use crate::storage::relayout::tag_of;
use corefold_block::turn::Look;
use corefold_model::Kind;
use corefold_model::Tag;
use corefold_recording::AccessKind;
use corefold_sim::{Effects, Event, Lease, Memory, What, origin};

/// The slow path of a plain read; `size` bytes on one line.
pub extern "C" fn plain_read(address: u64, pc: u64, size: u64) {
    if !active() || (hot().traced.get() != 0 && trace::saw_plain(address, size, pc, AccessKind::Read)) {
        return;
    }
    if l1_refill::fetched(address, pc, size, Kind::Load, AccessKind::Read) {
        return;
    }
    if hot().shows_reads() && read_in_turn(address, pc, size) {
        return;
    }
    if shown::all_accesses() && delays::plain(address, size, pc, AccessKind::Read) {
        if current().spins.with(|spins| spins.polls.on()) {
            poll(address, pc, size);
        }
        return;
    }
    let mut event = event(What::Load, address, size as u32, pc, AccessKind::Read);
    let tag = tag_of(address);
    if !tag.is_untouched() && tag.private_cpu().is_none() {
        ends_spin_by_store(address, pc);
        current().spins.with(|spins| {
            event.may_be_old = !spins.again(pc, address);
            event.awaited = spins.continues(pc, address);
        });
    }
    let effects = issue(&mut event);
    if effects.has(Effects::VALUE) {
        looked(address, pc, size as u8, effects.value, AccessKind::Read, false);
        let look = Look { pc, address, size: size as u8, value: effects.value };
        if current().spins.with(|spins| spins.is_steady(pc)) && skip() || skip_turns(&look) {
            plain_read(address, pc, size);
        }
    }
}

pub extern "C" fn plain_write(address: u64, pc: u64, size: u64) {
    if !active() {
        return;
    }
    hot().wrote.set(1);
    if hot().traced.get() != 0 && trace::saw_plain(address, size, pc, AccessKind::Write) {
        return;
    }
    let own = || tag_of(address) == Tag::private_dirty(running_cpu());
    if keeps_to_stack(address) && !shown::all_accesses() && own() {
        return;
    }
    if l1_refill::fetched(address, pc, size, Kind::Store, AccessKind::Write) {
        return;
    }
    if shown::all_accesses() && delays::plain(address, size, pc, AccessKind::Write) {
        return;
    }
    let effects = issue(&mut event(What::Store, address, size as u32, pc, AccessKind::Write));
    unhooked::note_store(pc);
    if effects.has(Effects::WAS_SHARED) {
        // Others see the value from then on: at once, if no older store waits, whenever the line arrives.
        LOCKS.with(|locks| locks.stored(address, effects.value));
    }
}

/// What the running CPU does, for [`issue`].
#[inline(always)]
pub fn event(what: What, address: u64, size: u32, pc: u64, kind: AccessKind) -> Event {
    Event::new(what, running_cpu(), simulated(address, u64::from(size)), size, origin(pc, kind as u8, size))
}

/// Passes the event to the simulator, runs others whenever they come first, and accounts for what follows. Returns the last
/// effects, once the event is over.
// Where it is called, what the event is is known: only that part of the simulator is compiled in.
#[inline(always)]
pub fn issue(event: &mut Event) -> Effects {
    let mut effects = Effects::default();
    loop {
        lend_sim().event_into(hot(), &mut ProgramMemory, event, &mut effects);
        settle(&effects, &event.access);
        if !effects.has(Effects::OTHERS) {
            return effects;
        }
        sched::sync();
    }
}

/// Reads of any size and alignment, line by line.
pub extern "C" fn range_read(address: u64, pc: u64, size: u64) {
    each_line(address, size, |address, size| {
        if !hot().loads(tag_of(address)) {
            plain_read(address, pc, size);
        }
    });
}

pub extern "C" fn range_write(address: u64, pc: u64, size: u64) {
    hot().wrote.set(1);
    each_line(address, size, |address, size| {
        if !hot().stores(tag_of(address)) {
            plain_write(address, pc, size);
        }
    });
    if active() && store_buffer::any_of(running_cpu()) {
        write_at_once(address, size);
    }
}

/// The bytes are stored after the hooks of all lines, when a store to the first may no longer wait: then none may.
#[cold]
fn write_at_once(address: u64, size: u64) {
    if address ^ (address + size - 1) >= crate::engine::line_bytes() {
        store_buffer::commit_all(running_cpu());
    }
}

/// A read and then a write of the same bytes.
pub extern "C" fn range_update(address: u64, pc: u64, size: u64) {
    range_read(address, pc, size);
    range_write(address, pc, size);
}

fn each_line(address: u64, size: u64, mut f: impl FnMut(u64, u64)) {
    if !active() {
        return;
    }
    let line = crate::engine::line_bytes();
    let mut at = address;
    while at < address + size {
        // Line sizes are powers of two: a division would cost more than the rest of this function.
        let next = ((at | (line - 1)) + 1).min(address + size);
        f(at, next - at);
        at = next;
    }
}

#[inline]
pub fn wrote() -> bool {
    hot().wrote.get() != 0
}

/// Asks for the time of one access of the running CPU, which is a part of something larger.
#[inline(never)]
pub fn timed(address: u64, pc: u64, size: u32, kind: Kind, what: AccessKind) {
    issue(&mut event(What::Timed(kind), address, size, pc, what));
}

/// A fiber that has stored something since it last looked does not spin, when it looks at `address` now. It may go on
/// waiting, if it has only tried to take that word.
#[inline]
fn ends_spin_by_store(address: u64, pc: u64) {
    if wrote() {
        let fiber = current();
        if hot().traced.get() == 0 && fiber.spins.with(|spins| spins.stores_between(pc, address)) {
            shown::show_stores(true);
        }
        if hot().wrote.get() == TRIED {
            fiber.spins.with(|spins| spins.goes_on_after_update(pc, address));
        }
        fiber.ends_spin();
        match fiber.spins.with(|spins| spins.waits.tried(address)) && hot().wrote.get() == TRIED {
            true => LOCKS.with(|locks| locks.not_taken(address)),
            false => fiber.ends_wait(),
        }
        hot().wrote.set(0);
        perturb::worked();
    }
}

/// A load or a read-modify-write found `value` and, if the latter, changed nothing: is that a spin?
pub fn looked(address: u64, pc: u64, size: u8, value: u64, what: AccessKind, orders: bool) {
    looked_for(0, address, pc, size, value, what, orders);
}

/// The same of a read-modify-write that `asks` for something: see [`Look::asks`](crate::scheduling::look::Look::asks).
pub fn looked_for(asks: u64, address: u64, pc: u64, size: u8, value: u64, what: AccessKind, orders: bool) {
    ends_spin_by_store(address, pc);
    let fiber = current();
    let cpu = running_cpu();
    let (at, stall) = (hot().clock.get(), fiber.time.get().stall);
    let found = Found { cpu, asks, pc, address, size, value, what, orders, at, stall };
    if let Some(spun) = fiber.spins.with(|spins| spins.look(&found, SCHED.longest_spin.get())) {
        fiber.spun(spun, at);
    }
    if fiber.spins.with(|spins| spins.stores.on() && !spins.stores.looks(pc, spins.spinning())) {
        shown::show_stores(false);
    }
    fiber.takes_back();
}

/// The running thread stores, and has set the note. Are its stores shown, and is this one to its stack near the pointer, on a
/// line that only its CPU knows? That changes nothing for others, and ends no spin: the note is taken back.
#[inline]
pub fn keeps_to_stack(address: u64) -> bool {
    shown::shows_stores() && keeps(address)
}

#[cold]
fn keeps(address: u64) -> bool {
    let tag = tag_of(address);
    let only_own = tag.is_untouched() || tag.private_cpu() == Some(running_cpu());
    let keeps = current().spins.with(|spins| {
        let keeps = only_own && spins.stores.compares(address);
        if keeps {
            spins.note_read(address);
        }
        keeps
    });
    if keeps {
        hot().wrote.set(0);
    } else {
        hides_stores();
    }
    keeps
}

/// The running thread does something that may be a store to anything, which no spin does.
#[inline]
pub fn stores_anywhere() {
    hot().wrote.set(WROTE);
    if shown::shows_stores() {
        hides_stores();
    }
}

#[cold]
fn hides_stores() {
    current().spins.with(|spins| spins.stores.elsewhere());
    shown::show_stores(false);
}

/// A read-modify-write has changed the word, where it failed to when it was last tried: did the thread back off in between?
#[cold]
pub fn succeeded(address: u64, pc: u64, size: u8, value: u64) {
    let fiber = current();
    let (cpu, what, at, stall) = (running_cpu(), AccessKind::Rmw, hot().clock.get(), fiber.time.get().stall);
    let found = Found { cpu, asks: 0, pc, address, size, value, what, orders: true, at, stall };
    if let Some(spun) = fiber.spins.with(|spins| spins.succeeds(&found, SCHED.longest_spin.get())) {
        fiber.spun(spun, at);
    }
}

/// Reads in a row that continue no spin: it does something else.
const OTHERS: u8 = 64;

/// A plain read, in an iteration whose lines are collected. True: it costs nothing, as its line is the CPU's own.
#[cold]
fn read_in_turn(address: u64, pc: u64, size: u64) -> bool {
    let polls = current().spins.with(|spins| spins.polls.on());
    if !current().spins.with(|spins| spins.note_read(address)) && !polls {
        show_reads(false);
    }
    let own = Lease::covers_read(tag_of(address), running_cpu());
    if own && polls {
        poll(address, pc, size);
    }
    own
}

/// The running thread, whose reads are shown, is about to read on a line of its own.
#[cold]
fn poll(address: u64, pc: u64, size: u64) {
    // No loop waits for a vector.
    let may_spin = size <= 8;
    if may_spin {
        looked(address, pc, size as u8, ProgramMemory.read(address, size as u8), AccessKind::Read, false);
    }
    let fiber = current();
    let gives_up = fiber.spins.with(|spins| {
        let others = if may_spin && spins.spinning() { 0 } else { spins.polls.others + 1 };
        spins.polls.others = others;
        spins.polls.on &= others <= OTHERS;
        others > OTHERS
    });
    if gives_up {
        show_reads(false);
    } else if may_spin && fiber.spins.with(|spins| spins.is_steady(pc)) && skip() {
        plain_read(address, pc, size);
    }
}
