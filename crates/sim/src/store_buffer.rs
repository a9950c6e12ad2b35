// SPDX-License-Identifier: MIT OR Apache-2.0
//! Store buffers: stores that have not committed yet. Each CPU's become visible to others in program order, as x86's do.
//!
//! Memory shows the running CPU's view: what it has stored is in memory while it runs, so that its own loads need no
//! forwarding; at a change of CPUs its waiting stores are undone and those of the next CPU put in
//! ([`StoreBuffers::change_view`]). The value of a store is what memory holds then: the event of a plain store comes before
//! the store and carries no value.
//!
//! An atomic store waits here until its line has arrived; a plain store waits only behind others of its CPU, or it would
//! overtake them.
use crate::Memory;
use crate::memory::overlap;
use crate::origin::{STORED, WRITTEN, origin};
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;
use corefold_model::Ticks;

/// A store that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    pub effect: Ticks,
    pub address: u64,
    /// As of the last time that its CPU's stores were undone.
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

impl Store {
    /// What a wait for it is accounted to.
    pub fn origin(&self) -> u64 {
        origin(self.pc, if self.plain { WRITTEN } else { STORED }, self.size.into())
    }

    fn bytes(&self) -> Range<u64> {
        self.address..self.address + u64::from(self.size)
    }
}

pub struct StoreBuffers {
    /// By CPU, oldest first, which is by time, too: the stores of a CPU commit in order.
    buffers: Vec<VecDeque<Store>>,
    /// The oldest store of each CPU that has any: its time, its number, the CPU.
    oldest: BinaryHeap<Reverse<(Ticks, u64, u32)>>,
    capacity: usize,
    count: u64,
    /// The CPU whose view memory shows.
    shown: u32,
    /// No store takes effect by itself before.
    pub(crate) not_before: Ticks,
}

impl StoreBuffers {
    /// Buffers for so many stores each.
    pub fn new(cpus: u32, capacity: u32) -> Self {
        StoreBuffers {
            buffers: (0..cpus).map(|_| VecDeque::new()).collect(),
            oldest: BinaryHeap::new(),
            capacity: capacity.max(1) as usize,
            count: 0,
            shown: 0,
            not_before: 0,
        }
    }

    fn of(&mut self, cpu: u32) -> &mut VecDeque<Store> {
        &mut self.buffers[cpu as usize]
    }

    /// Has `cpu` stored what others cannot see yet?
    #[inline]
    pub fn any_of(&self, cpu: u32) -> bool {
        !self.buffers[cpu as usize].is_empty()
    }

    /// Has it stored once only?
    pub fn is_alone(&self, cpu: u32) -> bool {
        self.waiting(cpu) == 1
    }

    /// So many stores of it wait.
    pub(crate) fn waiting(&self, cpu: u32) -> usize {
        self.buffers[cpu as usize].len()
    }

    /// Of these the one with this number, from the oldest on.
    pub(crate) fn address(&self, cpu: u32, number: usize) -> u64 {
        self.buffers[cpu as usize][number].address
    }

    /// Is there a value for these bytes that others cannot see yet?
    pub fn any_on(&self, bytes: &Range<u64>) -> bool {
        self.next_on(bytes) != Ticks::MAX
    }

    /// When the next such value takes effect, as far as is known: not before. The end of time, if there is none.
    pub fn next_on(&self, bytes: &Range<u64>) -> Ticks {
        let of = |cpu: u32| self.buffers[cpu as usize].iter().find(|store| overlap(&store.bytes(), bytes));
        self.oldest
            .iter()
            .filter_map(|Reverse((.., cpu))| of(*cpu))
            .map(|store| store.effect)
            .min()
            .unwrap_or(Ticks::MAX)
    }

    /// The store of `cpu` that takes effect last.
    #[inline]
    pub fn youngest(&self, cpu: u32) -> Option<Store> {
        self.buffers[cpu as usize].back().copied()
    }

    /// The store that all of `cpu` wait for: the oldest of those that take effect last. Younger ones wait behind it.
    pub fn last(&self, cpu: u32) -> Option<Store> {
        let buffer = &self.buffers[cpu as usize];
        let last = buffer.back()?.effect;
        buffer.iter().rev().take_while(|store| store.effect == last).last().copied()
    }

    /// The store that another of this CPU has to wait for, as there is no room for one more.
    #[inline]
    pub fn in_the_way(&self, cpu: u32) -> Option<Store> {
        let buffer = &self.buffers[cpu as usize];
        let is_full = buffer.len() >= self.capacity && buffer.iter().filter(|s| !s.plain).count() >= self.capacity;
        if is_full { buffer.front().copied() } else { None }
    }

    /// Puts off an atomic store of the running CPU to `effect`. Its own loads see it at once.
    pub fn defer(&mut self, memory: &mut impl Memory, cpu: u32, bytes: (u64, u8), value: u64, effect: Ticks, pc: u64) {
        let (address, size) = bytes;
        let beneath = memory.read(address, size);
        self.push(cpu, Store { effect, address, value, beneath, size, pc, number: 0, certain: false, plain: false });
        memory.write(address, size, value);
    }

    /// The running CPU is about to store plainly: not before what it has stored already takes effect.
    #[cold]
    pub fn defer_plain(&mut self, memory: &impl Memory, cpu: u32, bytes: Range<u64>, effect: Ticks, pc: u64) {
        let again = |store: &Store| store.plain && store.bytes() == bytes;
        if self.of(cpu).back().is_some_and(again) {
            return;
        }
        let mut address = bytes.start;
        while address < bytes.end {
            let size = 1 << (bytes.end - address).min(8).ilog2();
            let value = memory.read(address, size);
            let store =
                Store { effect, address, value, beneath: value, size, pc, number: 0, certain: true, plain: true };
            self.push(cpu, store);
            address += u64::from(size);
        }
    }

    fn push(&mut self, cpu: u32, store: Store) {
        self.count += 1;
        let number = self.count;
        let buffer = &mut self.buffers[cpu as usize];
        let effect = buffer.back().map_or(store.effect, |last| store.effect.max(last.effect));
        if buffer.is_empty() {
            self.oldest.push(Reverse((effect, number, cpu)));
        }
        buffer.push_back(Store { effect, number, ..store });
    }

    /// Does a store take effect by `now`?
    #[inline]
    pub fn is_due(&self, now: Ticks) -> bool {
        self.oldest.peek().is_some_and(|Reverse((effect, ..))| *effect <= now)
    }

    /// The oldest store of all, unless it takes effect at its time whichever CPU has its line then.
    pub fn first_uncertain(&self) -> Option<(u32, Store)> {
        let Reverse((.., cpu)) = *self.oldest.peek()?;
        let first = self.buffers[cpu as usize].front()?;
        (!first.certain).then_some((cpu, *first))
    }

    /// Carries out the oldest store of all, while `running` is the CPU whose view memory shows. If another CPU has taken
    /// the line while the store waited, it is `back` at that time, and younger stores of that CPU wait with it.
    pub fn commit(&mut self, memory: &mut impl Memory, running: u32, back: Option<Ticks>) {
        let Some(Reverse((.., cpu))) = self.oldest.pop() else { return };
        let buffer = &mut self.buffers[cpu as usize];
        match (back, buffer.front_mut()) {
            (Some(back), Some(first)) => {
                first.certain = true;
                buffer.iter_mut().for_each(|store| store.effect = store.effect.max(back));
            }
            _ => self.carry_out_first(memory, cpu, running),
        }
        if let Some(next) = self.buffers[cpu as usize].front() {
            self.oldest.push(Reverse((next.effect, next.number, cpu)));
        }
    }

    fn carry_out_first(&mut self, memory: &mut impl Memory, cpu: u32, running: u32) {
        let Some(store) = self.of(cpu).pop_front() else { return };
        if cpu == running {
            return;
        }
        // It is written beneath what the running CPU has stored there and others do not see yet.
        let held = |store: &Store| {
            let begin = memory.held_at(store.address);
            begin..begin + u64::from(store.size)
        };
        let bytes = held(&store);
        if !self.buffers[running as usize].iter().any(|other| overlap(&held(other), &bytes)) {
            return memory.write(store.address, store.size, store.value);
        }
        memory.apart(move |memory| {
            self.undo(memory, running);
            memory.write(store.address, store.size, store.value);
            self.redo(memory, running);
        });
    }

    /// Takes the CPU's waiting stores out of memory, the youngest first.
    fn undo(&mut self, memory: &mut impl Memory, cpu: u32) {
        for store in self.of(cpu).iter_mut().rev() {
            store.value = memory.read(store.address, store.size);
            memory.write(store.address, store.size, store.beneath);
        }
    }

    /// Puts them into memory, the oldest first.
    fn redo(&mut self, memory: &mut impl Memory, cpu: u32) {
        for store in self.of(cpu) {
            store.beneath = memory.read(store.address, store.size);
            memory.write(store.address, store.size, store.value);
        }
    }

    /// Would memory show `cpu` anything else than now?
    #[inline]
    pub fn view_changes(&self, cpu: u32) -> bool {
        self.shown != cpu && (self.any_of(self.shown) || self.any_of(cpu))
    }

    /// Memory shows the view of `cpu` from now on. To be called [`Memory::apart`] if that changes anything.
    #[inline]
    pub fn change_view(&mut self, memory: &mut impl Memory, cpu: u32) {
        let before = core::mem::replace(&mut self.shown, cpu);
        if before != cpu {
            if self.any_of(before) {
                self.undo(memory, before);
            }
            if self.any_of(cpu) {
                self.redo(memory, cpu);
            }
        }
    }

    /// Carries out now what waits for any of these bytes, as they are about to be unmapped or used anew, in the order of
    /// time. What the same CPUs stored before goes first, as it would from the store buffer.
    #[inline]
    pub fn commit_on(&mut self, memory: &mut impl Memory, bytes: &Range<u64>, running: u32) {
        if self.any_on(bytes) {
            let bytes = bytes.clone();
            memory.apart(move |memory| self.commit_those_on(memory, &bytes, running));
        }
    }

    fn commit_those_on(&mut self, memory: &mut impl Memory, bytes: &Range<u64>, running: u32) {
        self.undo(memory, running);
        let mut hit: Vec<Store> = Vec::new();
        for buffer in &mut self.buffers {
            if let Some(last) = buffer.iter().rposition(|store| overlap(&store.bytes(), bytes)) {
                hit.extend(buffer.drain(..=last));
            }
        }
        hit.sort_unstable_by_key(|store| (store.effect, store.number));
        hit.iter().for_each(|store| memory.write(store.address, store.size, store.value));
        self.redo(memory, running);
        self.find_oldest();
    }

    /// Stores take effect only by [`StoreBuffers::commit_first_of`], and before fences and locked operations.
    pub(crate) fn commit_by_hand(&mut self) {
        self.not_before = Ticks::MAX;
    }

    /// Carries out the oldest store of `cpu`, before its time.
    pub fn commit_first_of(&mut self, memory: &mut impl Memory, cpu: u32, running: u32) {
        self.carry_out_first(memory, cpu, running);
        self.find_oldest();
    }

    /// Carries out all that `cpu` has stored, before its time: a store buffer may drain as early as it likes.
    pub fn commit_all_of(&mut self, memory: &mut impl Memory, cpu: u32, running: u32) {
        while self.any_of(cpu) {
            self.carry_out_first(memory, cpu, running);
        }
        self.find_oldest();
    }

    fn find_oldest(&mut self) {
        let fronts = self.buffers.iter().zip(0..).filter_map(|(buffer, cpu)| Some((buffer.front()?, cpu)));
        self.oldest.clear();
        self.oldest.extend(fronts.map(|(first, cpu)| Reverse((first.effect, first.number, cpu))));
    }

    /// The stores of `cpu` take effect at their times, as its thread leaves it or another CPU waits for them. Returns when
    /// all have, if that is after `clock`.
    pub fn make_certain(&mut self, cpu: u32, clock: Ticks) -> Ticks {
        let buffer = self.of(cpu);
        buffer.iter_mut().for_each(|store| store.certain = true);
        buffer.back().map_or(clock, |last| clock.max(last.effect))
    }
}

#[cfg(test)]
mod tests;
