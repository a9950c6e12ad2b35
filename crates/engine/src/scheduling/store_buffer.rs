// SPDX-License-Identifier: MIT OR Apache-2.0
//! The store buffers of the simulated CPUs over the program's own memory: see [`corefold_sim::StoreBuffers`].
//!
//! Not in them are plain stores to a line that its CPU has alone and has modified, which no hook sees: nobody else sees
//! them before asking for the line, and then the CPU's stores commit first.
use crate::engine::{launch, running_cpu, sim};
use crate::hot::hot;
use crate::scheduling::charges::charge_retries;
use crate::scheduling::lease;
use crate::scheduling::program_memory::ProgramMemory;
use corefold_model::Ticks;
use corefold_sim::{Effects, Memory, StoreBuffers};

/// Lends all of them.
#[inline]
fn stores<R>(work: impl FnOnce(&mut StoreBuffers) -> R) -> R {
    sim(|sim| work(&mut sim.stores))
}

/// Memory shows the view of `cpu` from now on. To be called apart if that changes anything.
#[inline]
pub fn change_view(cpu: usize) {
    stores(|all| all.change_view(&mut ProgramMemory, cpu as u32));
}

/// The stores of `cpu` take effect at their times, as its thread leaves it or another CPU waits for them. Returns when
/// all have, if that is after `clock`.
pub fn make_certain(cpu: u32, clock: Ticks) -> Ticks {
    stores(|all| all.make_certain(cpu, clock))
}

/// Writes `size` (1, 2, 4, 8) bytes of `value`.
pub fn write_value(address: u64, size: u8, value: u64) {
    ProgramMemory.write(address, size, value);
}

/// Carries out every store whose time has come by `now`.
#[inline]
pub fn flush(now: Ticks) {
    if stores(|all| all.is_due(now)) {
        carry_out(now);
    }
}

fn carry_out(now: Ticks) {
    let effects = sim(|sim| sim.commit_until(&mut ProgramMemory, now));
    if effects.has(Effects::LIMIT) {
        lease::set_limit();
    }
    if effects.has(Effects::RETRIED) {
        charge_retries(usize::MAX);
    }
}

/// Carries out now what waits for any of these bytes, as they are about to be unmapped or used anew.
#[inline]
pub fn flush_range(address: u64, size: u64) {
    if hot().relaid.get() != 0 {
        // Of these bytes some may be simulated elsewhere.
        (0..launch().cpus).for_each(commit_all);
    }
    if sim(|sim| sim.commit_on(&mut ProgramMemory, &(address..address + size), hot().clock.get())) {
        lease::set_limit();
    }
}

/// What `cpu` has stored takes effect now, before its time.
#[cold]
pub fn commit_all(cpu: u32) {
    if sim(|sim| sim.commit_early(&mut ProgramMemory, cpu, hot().clock.get())) {
        lease::set_limit();
    }
}

/// What the running CPU has stored takes effect now, before its time.
#[inline]
pub fn commit_own() {
    let cpu = running_cpu();
    if any_of(cpu) {
        commit_all(cpu);
    }
}

/// Is it one store that waits?
pub fn is_alone(cpu: u32) -> bool {
    stores(|all| all.is_alone(cpu))
}

/// Has `cpu` stored what others cannot see yet?
#[inline]
pub fn any_of(cpu: u32) -> bool {
    stores(|all| all.any_of(cpu))
}
