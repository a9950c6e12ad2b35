// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain accesses that are not a hit on a private line, and the accounting that all accesses share.
use crate::account::{sample, trace};
use crate::engine::{active, current, engine, tag_of};
use crate::hooks::hot::hot;
use crate::hooks::spin::{Found, read_in_turn};
use crate::hooks::{atomics, front, own, pending, polls};
use crate::scheduling::doze::{self, doze};
use crate::scheduling::{perturb, sched};
use corefold_model::{Access, Blame, Kind, Load, Outcome, Ticks};
use corefold_recording::AccessKind;

/// The slow path of a plain read; `size` bytes on one line.
pub extern "C" fn plain_read(address: u64, pc: u64, size: u64) {
    if !active() || (hot!().traced != 0 && trace::saw_plain(address, size, pc, AccessKind::Read)) {
        return;
    }
    if own::fetched(address, pc, size, Kind::Load, AccessKind::Read) {
        return;
    }
    if hot!().tag == sched::READS_SHOWN && read_in_turn(address, pc, size) {
        return;
    }
    if perturb::on() && perturb::plain(address, size, pc, AccessKind::Read) {
        if current().polls.on() {
            polls::look(address, pc, size);
        }
        return;
    }
    let tag = *tag_of(address);
    if tag.is_untouched() || tag.private_cpu().is_some() {
        timed(address, pc, size as u32, Kind::Load, AccessKind::Read);
        return;
    }
    let once = !current().spins.again(pc, address);
    let quiet = is_quiet(address, engine().sched.cpu as u32, once && sched::within_slack());
    if quiet && once {
        return pending::flush(sched::shown());
    }
    // From here on as an atomic load: to the machine it is the same instruction.
    if !quiet {
        let again = !wrote() && current().spins.continues(pc, address);
        let kind = if again { Kind::LoadAwaited } else { Kind::Load };
        let asked = hot!().clock;
        timed(address, pc, size as u32, kind, AccessKind::Read);
        if hot!().clock > asked {
            sched::sync();
        }
    }
    pending::flush(sched::shown());
    if size <= 8 {
        looked(address, pc, size as u8, read_value(address, size as u8), AccessKind::Read, false);
        if current().spins.is_steady(pc) && doze() {
            plain_read(address, pc, size);
        }
    }
}

/// Does the running CPU read a copy that it has, and that no request takes from it by now? Such a read takes no time and
/// changes no state of the line. CPUs behind go first if they can change the value ([`sched::may_run_ahead`]), but for a
/// value that `may_be_old`.
#[inline]
pub fn is_quiet(address: u64, cpu: u32, may_be_old: bool) -> bool {
    front::catch_up(cpu);
    let model = &mut engine().model;
    if !model.is_idle(cpu) {
        hot!().clock = model.retire(cpu, hot!().clock);
        front::passed(cpu);
        charge_late(cpu);
    }
    let quiet = || engine().model.quiet_read(*tag_of(address), cpu, hot!().clock);
    if !quiet() {
        return false;
    }
    if may_be_old || sched::may_run_ahead(*tag_of(address), |_| true) {
        return true;
    }
    sched::sync();
    quiet()
}

pub extern "C" fn plain_write(address: u64, pc: u64, size: u64) {
    if !active() {
        return;
    }
    hot!().wrote = 1;
    if hot!().traced != 0 && trace::saw_plain(address, size, pc, AccessKind::Write) {
        return;
    }
    if own::fetched(address, pc, size, Kind::Store, AccessKind::Write) {
        return;
    }
    if perturb::on() && perturb::plain(address, size, pc, AccessKind::Write) {
        return;
    }
    let shared = tag_of(address).record_index().is_some();
    let outcome = timed(address, pc, size as u32, Kind::Store, AccessKind::Write);
    let cpu = engine().sched.cpu as u32;
    // Stores that are due commit before it, also those to these bytes.
    pending::flush(sched::shown());
    let mut seen = hot!().clock;
    if pending::any_of(cpu) {
        pending::defer_plain(cpu, address, size, outcome.effect, pc);
        seen = pending::youngest(cpu).map_or(seen, |store| store.effect);
    }
    if shared {
        // Others see the value from then on: at once, if no older store waits, whenever the line arrives.
        engine().locks.stored(address, seen);
    }
}

/// Reads of any size and alignment, line by line.
pub extern "C" fn range_read(address: u64, pc: u64, size: u64) {
    each_line(address, size, |address, size| {
        if tag_of(address).bits() & !3 != hot!().tag {
            plain_read(address, pc, size);
        }
    });
}

pub extern "C" fn range_write(address: u64, pc: u64, size: u64) {
    hot!().wrote = 1;
    each_line(address, size, |address, size| {
        if tag_of(address).bits() != hot!().tag_dirty {
            plain_write(address, pc, size);
        }
    });
    if active() && pending::any_of(engine().sched.cpu as u32) {
        write_at_once(address, size);
    }
}

/// The bytes are stored after the hooks of all lines, when a store to the first may no longer wait: then none may.
#[cold]
fn write_at_once(address: u64, size: u64) {
    if address ^ (address + size - 1) >= crate::engine::line_bytes() {
        pending::commit_all(engine().sched.cpu as u32);
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
    hot!().wrote != 0
}

pub fn read_value(address: u64, size: u8) -> u64 {
    // SAFETY: the program is about to read the same bytes.
    unsafe {
        match size {
            1 => u64::from((address as *const u8).read_volatile()),
            2 => u64::from((address as *const u16).read_unaligned()),
            4 => u64::from((address as *const u32).read_unaligned()),
            8 => (address as *const u64).read_unaligned(),
            _ => 0,
        }
    }
}

/// Asks the model for one access of the running CPU, after the CPUs behind it have run, and
/// accounts for it. The clock is then at [`Outcome::done`].
pub fn timed(address: u64, pc: u64, size: u32, kind: Kind, what: AccessKind) -> Outcome {
    let cpu = engine().sched.cpu as u32;
    front::catch_up(cpu);
    let access = Access { cpu, address, size, kind, origin: origin(pc, what, size) };
    let tag = tag_of(address);
    let asked = hot!().clock;
    if !engine().model.is_idle(cpu) {
        finish_earlier(cpu, address, kind);
    }
    if kind == Kind::Rmw {
        atomics::await_own_stores(cpu);
    }
    if others_know(*tag, cpu) && !may_go_first(*tag, &access) {
        sched::sync();
    }
    // Only now that the CPUs behind have run: until here the owner may have stored to it.
    pending::reveal(*tag, cpu);
    let shared = engine().model.shared_lines();
    let outcome = engine().model.access(tag, &access, hot!().clock);
    if outcome.transfer.is_some() || kind.writes() {
        doze::touched(address, hot!().clock);
        if let Some(other) = engine().model.pair_of(address, &outcome) {
            bring_pair(other, cpu);
        }
    }
    if engine().model.any_left() {
        mark_left(cpu, kind);
    }
    if engine().model.shared_lines() != shared {
        crate::account::sites::line_shared(address, pc);
    }
    hot!().clock = outcome.done;
    if outcome.done >= engine().sched.sibling_changes() {
        sched::set_limit();
    }
    account(pc, what, *tag, &access, &outcome, asked);
    if kind == Kind::Rmw && outcome.stall > 0 {
        front::waited(cpu, outcome.stall);
    } else {
        front::passed(cpu);
    }
    outcome
}

/// The adjacent-line prefetcher requests the other line of a pair.
#[cold]
pub fn bring_pair(address: u64, cpu: u32) {
    pending::reveal(*tag_of(address), cpu);
    engine().model.prefetch(tag_of(address), cpu, address, hot!().clock);
    doze::touched(address, hot!().clock);
}

/// Lines that left a first-level cache: the next access to them takes the slow path.
#[inline]
pub fn mark_left(cpu: u32, kind: Kind) {
    while let Some(address) = engine().model.take_left() {
        engine().model.left(cpu, kind, tag_of(address));
    }
}

fn others_know(tag: corefold_model::Tag, cpu: u32) -> bool {
    !tag.is_untouched() && tag.private_cpu() != Some(cpu)
}

fn may_go_first(tag: corefold_model::Tag, access: &Access) -> bool {
    sched::is_last() || sched::may_run_ahead(tag, |model| model.hits(tag, access, hot!().clock))
}

/// Completes the CPU's outstanding accesses as far as this one has to wait for them.
pub fn finish_earlier(cpu: u32, address: u64, kind: Kind) {
    let before = hot!().clock;
    let model = &mut engine().model;
    hot!().clock = match kind {
        Kind::Rmw => model.drain(cpu, before),
        Kind::Load | Kind::LoadAwaited => address_known(cpu, address, model.retire(cpu, before)),
        Kind::Store | Kind::AtomicStore => model.retire(cpu, before),
    };
    charge_late(cpu);
}

/// An outstanding load may be about to deliver this very address (a dependent access): then it waits. Hooks carry no
/// data flow, so the loaded value decides: it points to within a page of the address.
fn address_known(cpu: u32, address: u64, now: Ticks) -> Ticks {
    let word = |load: &Load| read_value(load.address & !7, 8);
    if !engine().model.may_deliver_near(cpu, address, word) {
        return now;
    }
    let near = |value: u64| value.wrapping_sub(address).wrapping_add(4096) < 8192;
    let mut source: Option<Load> = None;
    for load in engine().model.loads(cpu) {
        if near(word(load)) && source.is_none_or(|s| s.done <= load.done) {
            source = Some(*load);
        }
    }
    match source {
        Some(load) => engine().model.await_load(cpu, &load, now),
        None => now,
    }
}

const ORIGIN_KIND: u32 = 48;
const ORIGIN_SIZE: u32 = 52;

/// The place in the code, the kind and the size of an access in one word.
pub fn origin(pc: u64, what: AccessKind, size: u32) -> u64 {
    pc | (what as u64) << ORIGIN_KIND | u64::from(size.min(64)) << ORIGIN_SIZE
}

/// Charges waits for accesses that the CPU had run ahead of to the places that made them.
#[inline]
pub fn charge_late(cpu: u32) {
    while let Some(blame) = engine().model.take_blame(cpu) {
        charge_blame(cpu, &blame);
    }
}

/// Charges one such wait.
pub fn charge_blame(cpu: u32, blame: &Blame) {
    current().time.stall += blame.stall;
    let pc = blame.origin & ((1 << ORIGIN_KIND) - 1);
    let kind = (blame.origin >> ORIGIN_KIND & 0xf) as u8;
    let size = (blame.origin >> ORIGIN_SIZE) as u8;
    let sites = &mut engine().sites;
    match tag_of(blame.address).record_index() {
        Some(index) => sites.at(index, pc, kind, blame.address, size, cpu).stall += blame.stall,
        None => sites.region_at(pc, kind, blame.address, size, cpu).counts.stall += blame.stall,
    }
}

#[inline]
pub fn account(pc: u64, what: AccessKind, tag: corefold_model::Tag, access: &Access, outcome: &Outcome, asked: Ticks) {
    if outcome.stall > 0 {
        current().time.stall += outcome.stall;
    }
    charge_late(access.cpu);
    if outcome.transfer.is_some() || outcome.stall > 0 || outcome.dirtied {
        match tag.record_index() {
            Some(index) => engine().sites.touched(index, pc, what, access, outcome),
            None => engine().sites.passed(pc, what, access, outcome),
        }
    } else if let Some(index) = tag.record_index() {
        engine().sites.used(index, access);
    }
    if outcome.done >= engine().sched.cpus[access.cpu as usize].next_sample {
        take_samples(pc, asked, outcome.done);
    }
}

/// Until `asked` the CPU computed, until `done` it stalled.
#[cold]
fn take_samples(pc: u64, asked: Ticks, done: Ticks) {
    hot!().clock = asked;
    sample::take_due(pc, sample::What::Compute);
    hot!().clock = done;
    sample::take_due(pc, sample::What::Stall);
    sched::sampled();
}

/// A load or a read-modify-write found `value` and, if the latter, changed nothing: is that a spin?
pub fn looked(address: u64, pc: u64, size: u8, value: u64, what: AccessKind, orders: bool) {
    let engine = engine();
    let fiber = &mut engine.fibers[engine.sched.fiber];
    if wrote() {
        fiber.ends_spin();
        hot!().wrote = 0;
        perturb::worked();
    }
    let cpu = engine.sched.cpu as u32;
    let found = Found { cpu, pc, address, size, value, what, orders, at: hot!().clock, stall: fiber.time.stall };
    if let Some(spun) = fiber.spins.look(&found, engine.sched.longest_spin) {
        fiber.time.stall -= spun.stall;
        fiber.time.spin += spun.time;
    }
    fiber.takes_back();
}
