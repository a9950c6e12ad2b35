// SPDX-License-Identifier: MIT OR Apache-2.0
//! Store buffers: stores that have not committed yet. Each CPU's become visible to others in program order, as x86's do.
//!
//! An atomic store waits here until the model says that its line has arrived; a plain store waits here only behind
//! others of its CPU, or it would overtake them. Memory shows the running CPU's view: what it has stored is in memory
//! while it runs, so that its own loads need no forwarding, whether hooks see them or not; at a change of CPUs its
//! waiting stores are taken back and those of the next CPU put in ([`change_view`]). The value of a store is what memory
//! holds then, for a hook runs before the store and knows no value, and code without hooks may have stored since.
//!
//! No store to the running thread's own stack waits: its frame may be gone by then, and another of the program's or of the
//! runtime's own there. What was stored before it takes effect early instead ([`none_before`]).
//!
//! Not here either are plain stores to a line that its CPU has alone and has modified, which no hook sees: nobody else sees them
//! before asking for the line, and then the CPU's stores commit first ([`reveal`]).
use crate::engine::{current, engine, tag_of};
use crate::hooks::access::{origin, read_value};
use crate::scheduling::doze;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use corefold_model::{Access, Kind, Tag, Ticks};
use corefold_recording::AccessKind;

#[derive(Clone, Copy)]
pub struct Store {
    pub effect: Ticks,
    pub address: u64,
    /// As of the last time that its CPU's stores were taken back.
    value: u64,
    /// The bytes that it overwrote in memory: committed ones, or those of an older store of this CPU.
    beneath: u64,
    pub size: u8,
    /// Where it is in the program.
    pub pc: u64,
    /// Counts the stores of all CPUs: of two with one time the older takes effect first.
    number: u64,
    /// It takes effect at its time, whichever CPU has the line then.
    certain: bool,
    /// Waits only behind others, and takes no room of its own: the model counts plain stores by lines.
    plain: bool,
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
    /// the line again, and younger stores of that CPU with it. `running` is the CPU whose view memory shows.
    fn commit(&mut self, running: u32) {
        let Some(Reverse((.., cpu))) = self.oldest.pop() else { return };
        let buffer = &mut self.buffers[cpu as usize];
        let Some(first) = buffer.front_mut() else { return };
        match if first.certain { None } else { asked_again(cpu, first) } {
            Some(effect) => {
                first.certain = true;
                buffer.iter_mut().for_each(|store| store.effect = store.effect.max(effect));
            }
            None => self.carry_out_first(cpu, running),
        }
        if let Some(next) = self.buffers[cpu as usize].front() {
            self.oldest.push(Reverse((next.effect, next.number, cpu)));
        }
    }

    fn carry_out_first(&mut self, cpu: u32, running: u32) {
        let Some(store) = self.buffers[cpu as usize].pop_front() else { return };
        if cpu == running {
            return;
        }
        // It is written beneath what the running CPU has stored there and others do not see yet.
        let above = self.buffers[running as usize].iter().any(|s| overlaps(s, store.address, store.size.into()));
        if above {
            self.take_back(running);
        }
        write_value(store.address, store.size, store.value);
        if above {
            self.put_in(running);
        }
    }

    /// Takes the CPU's waiting stores out of memory, the youngest first.
    fn take_back(&mut self, cpu: u32) {
        for store in self.buffers[cpu as usize].iter_mut().rev() {
            store.value = read_value(store.address, store.size);
            write_value(store.address, store.size, store.beneath);
        }
    }

    /// Puts them into memory, the oldest first.
    fn put_in(&mut self, cpu: u32) {
        for store in &mut self.buffers[cpu as usize] {
            store.beneath = read_value(store.address, store.size);
            write_value(store.address, store.size, store.value);
        }
    }

    fn waits_for(&self, address: u64, size: u64) -> bool {
        self.oldest
            .iter()
            .any(|Reverse((.., cpu))| self.buffers[*cpu as usize].iter().any(|s| overlaps(s, address, size)))
    }

    /// Carries out all that waits for any of these bytes, and what the same CPUs stored before, in the order of time.
    fn commit_range(&mut self, address: u64, size: u64, running: u32) {
        self.take_back(running);
        let mut hit: Vec<Store> = Vec::new();
        for buffer in &mut self.buffers {
            if let Some(last) = buffer.iter().rposition(|s| overlaps(s, address, size)) {
                hit.extend(buffer.drain(..=last));
            }
        }
        hit.sort_unstable_by_key(|s| (s.effect, s.number));
        hit.iter().for_each(|s| write_value(s.address, s.size, s.value));
        self.put_in(running);
        self.find_oldest();
    }

    /// Carries out all that `cpu` has stored, whatever the time.
    fn commit_all_of(&mut self, cpu: u32, running: u32) {
        while !self.buffers[cpu as usize].is_empty() {
            self.carry_out_first(cpu, running);
        }
        self.find_oldest();
    }

    fn find_oldest(&mut self) {
        let fronts = self.buffers.iter().zip(0..).filter_map(|(buffer, cpu)| Some((buffer.front()?, cpu)));
        self.oldest = fronts.map(|(first, cpu)| Reverse((first.effect, first.number, cpu))).collect();
    }

    fn push(&mut self, cpu: u32, effect: Ticks, store: Store) {
        self.count += 1;
        let number = self.count;
        let buffer = &mut self.buffers[cpu as usize];
        let effect = buffer.back().map_or(effect, |last| effect.max(last.effect));
        if buffer.is_empty() {
            self.oldest.push(Reverse((effect, number, cpu)));
        }
        buffer.push_back(Store { effect, number, ..store });
    }
}

/// When the line of a store that could commit now arrives, if another CPU has taken it.
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

fn running() -> u32 {
    engine().sched.cpu as u32
}

/// Another CPU becomes the running one: memory shows its view from now on.
#[inline]
pub fn change_view(from: usize, to: usize) {
    let pending = &mut engine().pending;
    if from != to {
        if !pending.buffers[from].is_empty() {
            pending.take_back(from as u32);
        }
        if !pending.buffers[to].is_empty() {
            pending.put_in(to as u32);
        }
    }
}

/// The stores of `cpu` take effect at their times, as its thread leaves it or another CPU waits for them. Returns when
/// all have, if that is after `clock`.
pub fn make_certain(cpu: u32, clock: Ticks) -> Ticks {
    let buffer = &mut engine().pending.buffers[cpu as usize];
    buffer.iter_mut().for_each(|store| store.certain = true);
    buffer.back().map_or(clock, |last| clock.max(last.effect))
}

/// The store of `cpu` that takes effect last.
#[inline]
pub fn youngest(cpu: u32) -> Option<Store> {
    engine().pending.buffers[cpu as usize].back().copied()
}

/// Writes `size` (1, 2, 4, 8) bytes of `value`.
pub fn write_value(address: u64, size: u8, value: u64) {
    // SAFETY: a store of the program's own at this address is being carried out, or taken back; what it unmaps has no
    // store waiting (`commit_range`).
    unsafe {
        match size {
            1 => (address as *mut u8).write_volatile(value as u8),
            2 => (address as *mut u16).write_unaligned(value as u16),
            4 => (address as *mut u32).write_unaligned(value as u32),
            _ => (address as *mut u64).write_unaligned(value),
        }
    }
}

/// Puts off a store of the running CPU to `effect`. Its own loads see it at once.
pub fn defer(cpu: u32, address: u64, size: u8, value: u64, effect: Ticks, pc: u64) {
    let beneath = read_value(address, size);
    let store = Store { effect, address, value, beneath, size, pc, number: 0, certain: false, plain: false };
    engine().pending.push(cpu, effect, store);
    write_value(address, size, value);
}

/// The running CPU is about to store plainly: not before what it has stored already takes effect.
#[cold]
pub fn defer_plain(cpu: u32, address: u64, bytes: u64, effect: Ticks, pc: u64) {
    let pending = &mut engine().pending;
    let again = |s: &Store| s.plain && s.address == address && u64::from(s.size) == bytes;
    if pending.buffers[cpu as usize].back().is_some_and(again) {
        return;
    }
    let mut done = 0;
    while done < bytes {
        let size = 1 << (bytes - done).min(8).ilog2();
        let beneath = read_value(address + done, size);
        let (address, value) = (address + done, beneath);
        let store = Store { effect, address, value, beneath, size, pc, number: 0, certain: true, plain: true };
        pending.push(cpu, effect, store);
        done += u64::from(size);
    }
}

/// Is a store of the running CPU to this address one that may not wait? Then none waits any more, so that it may take effect
/// at once. Of stacks that the program made itself, such as coroutines', only what is near the stack pointer is known.
#[inline]
pub fn none_before(cpu: u32, address: u64) -> bool {
    const NEAR: u64 = 64 << 10;
    let here = core::hint::black_box(0u8);
    let is_own = current().thread.has_stack(address) || address.wrapping_sub(&raw const here as u64) < NEAR;
    if is_own && any_of(cpu) {
        commit_all(cpu);
    }
    is_own
}

/// The store that another of this CPU has to wait for, as there is no room for one more.
#[inline]
pub fn in_the_way(cpu: u32) -> Option<Store> {
    let pending = &engine().pending;
    let buffer = &pending.buffers[cpu as usize];
    let is_full = buffer.len() >= pending.capacity && buffer.iter().filter(|s| !s.plain).count() >= pending.capacity;
    if is_full { buffer.front().copied() } else { None }
}

/// Carries out every store whose time has come by `now`.
#[inline]
pub fn flush(now: Ticks) {
    let pending = &mut engine().pending;
    while pending.oldest.peek().is_some_and(|Reverse((effect, ..))| *effect <= now) {
        pending.commit(running());
    }
}

fn overlaps(store: &Store, address: u64, size: u64) -> bool {
    store.address < address + size && address < store.address + u64::from(store.size)
}

/// Carries out now what waits for any of these bytes, as they are about to be unmapped or used anew. What the same CPUs
/// stored before goes first, as it would from the store buffer.
#[inline]
pub fn flush_range(address: u64, size: u64) {
    let pending = &mut engine().pending;
    if !pending.oldest.is_empty() && pending.waits_for(address, size) {
        pending.commit_range(address, size, running());
    }
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

/// What `cpu` has stored takes effect now, before its time. A store buffer may drain as early as it likes.
#[cold]
pub fn commit_all(cpu: u32) {
    engine().pending.commit_all_of(cpu, running());
}

/// Has `cpu` stored what others cannot see yet?
#[inline]
pub fn any_of(cpu: u32) -> bool {
    !engine().pending.buffers[cpu as usize].is_empty()
}

/// Is there a value for the line that others cannot see yet?
pub fn any_on(line: u64) -> bool {
    let pending = &engine().pending;
    !pending.oldest.is_empty() && pending.waits_for(line, crate::engine::line_bytes())
}
