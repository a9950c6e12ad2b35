// SPDX-License-Identifier: MIT OR Apache-2.0
//! The locks that a thread holds: whoever waits for one of them waits for what this thread waits for.
use alloc::vec::Vec;
use corefold_model::Ticks;

/// In the order that it took them, and when.
#[derive(Default)]
pub struct Held(Vec<(u64, Ticks)>);

/// Of more locks than these, those that it took first are not known to be held.
const MOST: usize = 64;

impl Held {
    pub fn takes(&mut self, address: u64, now: Ticks) {
        // Where other threads release what this one takes.
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push((address, now));
    }

    /// If it holds the lock.
    pub fn lets_go(&mut self, address: u64) {
        if let Some(at) = self.0.iter().rposition(|(lock, _)| *lock == address) {
            self.0.remove(at);
        }
    }

    /// Those that it has held since then, each once.
    pub fn since(&self, time: Ticks) -> impl Iterator<Item = u64> {
        let first = |at: usize, lock: u64| self.0[..at].iter().all(|(before, _)| *before != lock);
        let held = self.0.iter().enumerate().filter(move |(_, (_, taken))| *taken <= time);
        held.filter(move |(at, (lock, _))| first(*at, *lock)).map(|(_, (lock, _))| *lock)
    }
}
