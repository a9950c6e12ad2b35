// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store buffers of the simulated CPUs over the program's own memory: see [`corefold_sim::StoreBuffers`].
//!
//! Not in them are plain stores to a line that its CPU has alone and has modified, which no hook sees: nobody else sees
//! them before asking for the line, and then the CPU's stores commit first ([`reveal`]).
use crate::engine::{engine, tag_of};
use crate::hooks::access::origin;
use crate::scheduling::neutral_stack::ProgramMemory;
use crate::scheduling::spin_skip;
use corefold_model::{Access, Kind, Tag, Ticks};
use corefold_recording::AccessKind;
use corefold_sim::{Memory, Store, StoreBuffers};

#[inline]
fn stores() -> &'static mut StoreBuffers {
    &mut engine().sim.stores
}

fn running() -> u32 {
    engine().sim.cpu as u32
}

/// When the line of a store that could commit now arrives, if another CPU has taken it.
fn asked_again(cpu: u32, store: &Store) -> Option<Ticks> {
    let tag = tag_of(store.address);
    if engine().sim.model.commits(*tag, cpu, store.effect) {
        return None;
    }
    let Store { address, pc, effect, .. } = *store;
    let size = u32::from(store.size);
    let origin = origin(pc, AccessKind::AtomicStore, size);
    let access = Access { cpu, address, size, kind: Kind::AtomicStore, origin };
    let outcome = engine().sim.model.ask_again(*tag, &access, effect);
    spin_skip::touched(address, effect);
    if let Some(index) = tag.record_index() {
        engine().sites.touched(index, pc, AccessKind::AtomicStore, &access, &outcome);
    }
    Some(outcome.effect)
}

/// Does memory show anything else to `cpu` than now?
#[inline]
pub fn view_changes(cpu: usize) -> bool {
    stores().view_changes(cpu as u32)
}

/// Memory shows the view of `cpu` from now on. To be called apart if that changes anything.
#[inline]
pub fn change_view(cpu: usize) {
    stores().change_view(&mut ProgramMemory, cpu as u32);
}

/// The stores of `cpu` take effect at their times, as its thread leaves it or another CPU waits for them. Returns when
/// all have, if that is after `clock`.
pub fn make_certain(cpu: u32, clock: Ticks) -> Ticks {
    stores().make_certain(cpu, clock)
}

/// The store of `cpu` that takes effect last.
#[inline]
pub fn youngest(cpu: u32) -> Option<Store> {
    stores().youngest(cpu)
}

/// Writes `size` (1, 2, 4, 8) bytes of `value`.
pub fn write_value(address: u64, size: u8, value: u64) {
    ProgramMemory.write(address, size, value);
}

/// Puts off a store of the running CPU to `effect`. Its own loads see it at once.
pub fn defer(cpu: u32, address: u64, size: u8, value: u64, effect: Ticks, pc: u64) {
    stores().defer(&mut ProgramMemory, cpu, (address, size), value, effect, pc);
}

/// The running CPU is about to store plainly: not before what it has stored already takes effect.
pub fn defer_plain(cpu: u32, address: u64, bytes: u64, effect: Ticks, pc: u64) {
    stores().defer_plain(&ProgramMemory, cpu, address..address + bytes, effect, pc);
}

/// The store that another of this CPU has to wait for, as there is no room for one more.
#[inline]
pub fn in_the_way(cpu: u32) -> Option<Store> {
    stores().in_the_way(cpu)
}

/// Carries out every store whose time has come by `now`.
#[inline]
pub fn flush(now: Ticks) {
    let stores = stores();
    while stores.is_due(now) {
        stores.commit(&mut ProgramMemory, running(), asked_again);
    }
}

/// Carries out now what waits for any of these bytes, as they are about to be unmapped or used anew.
#[inline]
pub fn flush_range(address: u64, size: u64) {
    stores().commit_on(&mut ProgramMemory, &(address..address + size), running());
}

/// Another CPU than the owner asks for a private line that the owner has modified: its plain stores there were not put
/// off, so what it stored before them takes effect first.
#[inline]
pub fn reveal(tag: Tag, asks: u32) {
    if let Some(owner) = tag.private_cpu()
        && owner != asks
        && tag.is_dirty()
        && any_of(owner)
    {
        commit_all(owner);
    }
}

/// What `cpu` has stored takes effect now, before its time.
#[cold]
pub fn commit_all(cpu: u32) {
    stores().commit_all_of(&mut ProgramMemory, cpu, running());
}

/// Has `cpu` stored what others cannot see yet?
#[inline]
pub fn any_of(cpu: u32) -> bool {
    stores().any_of(cpu)
}
