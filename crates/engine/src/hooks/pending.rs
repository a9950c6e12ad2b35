// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic stores whose line has not arrived: their values wait here, as in the store buffer, and become
//! visible at their time.
use crate::engine::engine;
use alloc::vec::Vec;
use corefold_model::Ticks;

struct Store {
    effect: Ticks,
    address: u64,
    value: u64,
    size: u8,
    cpu: u32,
}

#[derive(Default)]
pub struct Pending {
    /// By time; those of one CPU are in program order, as its stores commit in order.
    stores: Vec<Store>,
}

/// Writes `size` (1, 2, 4, 8) bytes of `value`.
pub fn write_value(address: u64, size: u8, value: u64) {
    // SAFETY: the program's own atomic store at this address is being carried out.
    unsafe {
        match size {
            1 => (address as *mut u8).write_volatile(value as u8),
            2 => (address as *mut u16).write_volatile(value as u16),
            4 => (address as *mut u32).write_volatile(value as u32),
            _ => (address as *mut u64).write_volatile(value),
        }
    }
}

/// Puts off a store to `effect`.
pub fn defer(cpu: u32, address: u64, size: u8, value: u64, effect: Ticks) {
    let stores = &mut engine().pending.stores;
    let at = stores.partition_point(|s| s.effect <= effect);
    stores.insert(at, Store { effect, address, value, size, cpu });
}

/// Carries out every store whose time has come by `now`.
#[inline]
pub fn flush(now: Ticks) {
    let stores = &mut engine().pending.stores;
    if stores.first().is_some_and(|s| s.effect <= now) {
        let due = stores.partition_point(|s| s.effect <= now);
        stores.drain(..due).for_each(|s| write_value(s.address, s.size, s.value));
    }
}

fn overlaps(store: &Store, address: u64, size: u64) -> bool {
    store.address < address + size && address < store.address + u64::from(store.size)
}

/// Carries out now what waits for any of these bytes: an access that we do not mediate comes to them. What the same
/// CPUs stored before goes first, as it would from the store buffer.
#[inline]
pub fn flush_range(address: u64, size: u64) {
    let stores = &mut engine().pending.stores;
    while let Some(last) = stores.iter().rposition(|s| overlaps(s, address, size)) {
        let cpu = stores[last].cpu;
        stores.extract_if(..=last, |s| s.cpu == cpu).for_each(|s| write_value(s.address, s.size, s.value));
    }
}

/// Carries out now what the running CPU itself has waiting for any of these bytes.
#[inline]
pub fn flush_own(address: u64, size: u64) {
    let cpu = engine().sched.cpu as u32;
    if engine().pending.stores.iter().any(|s| s.cpu == cpu && overlaps(s, address, size)) {
        flush_range(address, size);
    }
}

/// The youngest value that `cpu` has in its store buffer for exactly these bytes.
pub fn forwarded(cpu: u32, address: u64, size: u8) -> Option<u64> {
    let stores = &engine().pending.stores;
    let store = stores.iter().rev().find(|s| s.cpu == cpu && overlaps(s, address, u64::from(size)))?;
    if store.address == address && store.size == size {
        return Some(store.value);
    }
    flush_range(address, u64::from(size));
    None
}

/// Has `cpu` a value that others cannot see yet?
pub fn any_of(cpu: u32) -> bool {
    engine().pending.stores.iter().any(|s| s.cpu == cpu)
}

/// Is there a value for the line that others cannot see yet?
pub fn any_on(line: u64) -> bool {
    let bytes = crate::engine::line_bytes();
    engine().pending.stores.iter().any(|s| overlaps(s, line, bytes))
}
