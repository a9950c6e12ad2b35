// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic stores whose line has not arrived: their values wait here, each CPU's in its store buffer, and
//! become visible at their time. A full buffer has its CPU wait for the oldest.
use crate::engine::{engine, tag_of};
use crate::hooks::access::origin;
use crate::scheduling::doze;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use corefold_model::{Access, Kind, Ticks};
use corefold_recording::AccessKind;

#[derive(Clone, Copy)]
pub struct Store {
    pub effect: Ticks,
    pub address: u64,
    value: u64,
    pub size: u8,
    /// Where it is in the program.
    pub pc: u64,
    /// Counts the stores of all CPUs: of two with one time the older takes effect first.
    number: u64,
    /// It takes effect at its time, whoever has the line then.
    certain: bool,
}

pub struct Pending {
    /// By CPU, oldest first, which is by time, too: the stores of a CPU commit in order.
    buffers: Vec<VecDeque<Store>>,
    /// The oldest store of each CPU that has any: its time, its number, the CPU.
    oldest: BinaryHeap<Reverse<(Ticks, u64, u32)>>,
    capacity: usize,
    count: u64,
}

impl Pending {
    pub fn new(cpus: u32, store_buffer: u32) -> Self {
        Pending {
            buffers: (0..cpus).map(|_| VecDeque::new()).collect(),
            oldest: BinaryHeap::new(),
            capacity: store_buffer.max(1) as usize,
            count: 0,
        }
    }

    /// Carries out the oldest store of all; if another CPU has taken its line while it waited, it waits for
    /// the line again, and those behind it wait with it.
    fn commit(&mut self) {
        let Some(Reverse((.., cpu))) = self.oldest.pop() else { return };
        let buffer = &mut self.buffers[cpu as usize];
        let Some(first) = buffer.front_mut() else { return };
        match if first.certain { None } else { asked_again(cpu, first) } {
            Some(effect) => {
                first.certain = true;
                buffer.iter_mut().for_each(|store| store.effect = store.effect.max(effect));
            }
            None => {
                write_value(first.address, first.size, first.value);
                buffer.pop_front();
            }
        }
        if let Some(next) = buffer.front() {
            self.oldest.push(Reverse((next.effect, next.number, cpu)));
        }
    }

    fn waits_for(&self, address: u64, size: u64) -> bool {
        self.oldest
            .iter()
            .any(|Reverse((.., cpu))| self.buffers[*cpu as usize].iter().any(|s| overlaps(s, address, size)))
    }

    /// Carries out all that waits for any of these bytes, and what the same CPUs stored before, in the order of time.
    fn commit_range(&mut self, address: u64, size: u64) {
        let mut hit: Vec<Store> = Vec::new();
        for buffer in &mut self.buffers {
            if let Some(last) = buffer.iter().rposition(|s| overlaps(s, address, size)) {
                hit.extend(buffer.drain(..=last));
            }
        }
        hit.sort_unstable_by_key(|s| (s.effect, s.number));
        hit.iter().for_each(|s| write_value(s.address, s.size, s.value));
        let fronts = self.buffers.iter().zip(0..).filter_map(|(buffer, cpu)| Some((buffer.front()?, cpu)));
        self.oldest = fronts.map(|(first, cpu)| Reverse((first.effect, first.number, cpu))).collect();
    }
}

/// When the line of a store that may commit now comes, if it has been lost.
fn asked_again(cpu: u32, store: &Store) -> Option<Ticks> {
    let tag = tag_of(store.address);
    if engine().model.commits(*tag, cpu, store.effect) {
        return None;
    }
    let Store { address, pc, effect, .. } = *store;
    let size = u32::from(store.size);
    let origin = origin(pc, AccessKind::AtomicStore, size);
    let access = Access { cpu, address, size, kind: Kind::AtomicStore, origin };
    let outcome = engine().model.ask_again(*tag, &access, effect);
    doze::touched(address, effect);
    if let Some(index) = tag.record_index() {
        engine().sites.touched(index, pc, AccessKind::AtomicStore, &access, &outcome);
    }
    Some(outcome.effect)
}

/// The stores of `cpu` take effect at their times: its thread leaves it.
pub fn make_certain(cpu: u32) {
    engine().pending.buffers[cpu as usize].iter_mut().for_each(|store| store.certain = true);
}

/// The store of `cpu` that takes effect last.
#[inline]
pub fn youngest(cpu: u32) -> Option<Store> {
    engine().pending.buffers[cpu as usize].back().copied()
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
pub fn defer(cpu: u32, address: u64, size: u8, value: u64, effect: Ticks, pc: u64) {
    let pending = &mut engine().pending;
    pending.count += 1;
    let number = pending.count;
    let buffer = &mut pending.buffers[cpu as usize];
    let effect = buffer.back().map_or(effect, |last| effect.max(last.effect));
    if buffer.is_empty() {
        pending.oldest.push(Reverse((effect, number, cpu)));
    }
    buffer.push_back(Store { effect, address, value, size, pc, number, certain: false });
}

/// The store that another of this CPU has to wait for, as there is no room for one more.
#[inline]
pub fn in_the_way(cpu: u32) -> Option<Store> {
    let pending = &engine().pending;
    let buffer = &pending.buffers[cpu as usize];
    if buffer.len() < pending.capacity { None } else { buffer.front().copied() }
}

/// Carries out every store whose time has come by `now`.
#[inline]
pub fn flush(now: Ticks) {
    let pending = &mut engine().pending;
    while pending.oldest.peek().is_some_and(|Reverse((effect, ..))| *effect <= now) {
        pending.commit();
    }
}

fn overlaps(store: &Store, address: u64, size: u64) -> bool {
    store.address < address + size && address < store.address + u64::from(store.size)
}

/// Carries out now what waits for any of these bytes: an access that we do not mediate comes to them. What the same
/// CPUs stored before goes first, as it would from the store buffer.
#[inline]
pub fn flush_range(address: u64, size: u64) {
    let pending = &mut engine().pending;
    if !pending.oldest.is_empty() && pending.waits_for(address, size) {
        pending.commit_range(address, size);
    }
}

/// Carries out now what the running CPU itself has waiting for any of these bytes.
#[inline]
pub fn flush_own(address: u64, size: u64) {
    let cpu = engine().sched.cpu;
    if engine().pending.buffers[cpu].iter().any(|s| overlaps(s, address, size)) {
        flush_range(address, size);
    }
}

/// The youngest value that `cpu` has in its store buffer for exactly these bytes.
pub fn forwarded(cpu: u32, address: u64, size: u8) -> Option<u64> {
    let buffer = &engine().pending.buffers[cpu as usize];
    let store = buffer.iter().rev().find(|s| overlaps(s, address, u64::from(size)))?;
    if store.address == address && store.size == size {
        return Some(store.value);
    }
    flush_range(address, u64::from(size));
    None
}

/// Has `cpu` a value that others cannot see yet?
pub fn any_of(cpu: u32) -> bool {
    !engine().pending.buffers[cpu as usize].is_empty()
}

/// Is there a value for the line that others cannot see yet?
pub fn any_on(line: u64) -> bool {
    let pending = &engine().pending;
    !pending.oldest.is_empty() && pending.waits_for(line, crate::engine::line_bytes())
}
