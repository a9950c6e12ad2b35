// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which thread stacks are in use; one that was given back is used again.
use alloc::collections::BTreeSet;

#[derive(Default)]
pub struct Stacks {
    used: usize,
    mapped: usize,
    free: BTreeSet<usize>,
}

impl Stacks {
    /// Has the stack yet to be mapped?
    pub fn is_new(&self, slot: usize) -> bool {
        slot >= self.mapped
    }

    pub fn is_mapped(&mut self, slot: usize) {
        self.mapped = self.mapped.max(slot + 1);
    }

    /// The next stack, counted from 0.
    pub fn take(&mut self) -> usize {
        if let Some(slot) = self.free.pop_first() {
            return slot;
        }
        self.used += 1;
        self.used - 1
    }

    pub fn give_back(&mut self, slot: usize) {
        self.free.insert(slot);
    }
}
