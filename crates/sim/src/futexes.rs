// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes, as the kernel has them: threads that wait on a word of memory until another thread wakes them.
//!
//! A futex is known by a key. Its waiters are woken in order of arrival; a waiter that is moved to another futex arrives
//! there anew. Each wait ends once: by a wake-up, which cancels its timer, or otherwise ([`Futexes::forget`]), after which
//! no wake-up finds it.
use crate::timers::Timers;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use corefold_model::Ticks;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

#[cfg(test)]
mod tests;

/// A thread that is about to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleeper {
    pub thread: usize,
    /// Only a wake-up with one of these bits finds it.
    pub bits: u32,
    /// What the word holds, and what it must hold for the thread to wait.
    pub found: u32,
    pub expected: u32,
    /// When it waits no more.
    pub deadline: Option<Ticks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asleep {
    /// It waits.
    Yes,
    /// The word does not hold the expected value.
    Changed,
    /// Its deadline has passed.
    TooLate,
}

#[derive(Clone, Copy)]
struct Waiter {
    thread: usize,
    bits: u32,
}

#[derive(Default)]
pub struct Futexes {
    /// In order of arrival.
    by_key: HashMap<u64, VecDeque<Waiter>, FxBuildHasher>,
    /// Where each thread waits.
    keys: Vec<Option<u64>>,
}

impl Futexes {
    /// The thread waits from `now` on, unless there is a reason not to. It must not run before its wait has ended.
    pub fn wait(&mut self, timers: &mut Timers, key: u64, sleeper: Sleeper, now: Ticks) -> Asleep {
        let Sleeper { thread, bits, found, expected, deadline } = sleeper;
        if found != expected {
            return Asleep::Changed;
        }
        if deadline.is_some_and(|deadline| deadline <= now) {
            return Asleep::TooLate;
        }
        if let Some(deadline) = deadline {
            timers.set(thread, deadline);
        }
        self.keys.resize(self.keys.len().max(thread + 1), None);
        self.add(key, Waiter { thread, bits });
        Asleep::Yes
    }

    /// Ends the wait of the first that waits for one of `bits`.
    pub fn wake(&mut self, timers: &mut Timers, key: u64, bits: u32) -> Option<usize> {
        let queue = self.by_key.get_mut(&key)?;
        let at = queue.iter().position(|waiter| waiter.bits & bits != 0)?;
        let Waiter { thread, .. } = queue.remove(at)?;
        self.drop_if_empty(key);
        self.keys[thread] = None;
        timers.cancel(thread);
        Some(thread)
    }

    /// Has up to `most` that wait at `from` wait at `to` from now on, the first first; returns how many. Where both are one,
    /// they keep their places.
    pub fn requeue(&mut self, from: u64, to: u64, most: u32) -> u32 {
        let waiting = self.by_key.get(&from).map_or(0, VecDeque::len) as u32;
        let count = waiting.min(most);
        for _ in 0..if from == to { 0 } else { count } {
            let Some(waiter) = self.by_key.get_mut(&from).and_then(VecDeque::pop_front) else { break };
            self.add(to, waiter);
        }
        self.drop_if_empty(from);
        count
    }

    /// The thread waits no more, if it did: its deadline has come, or a signal. Its timer is the caller's to cancel.
    pub fn forget(&mut self, thread: usize) {
        let Some(key) = self.keys.get_mut(thread).and_then(Option::take) else { return };
        if let Some(queue) = self.by_key.get_mut(&key) {
            queue.retain(|waiter| waiter.thread != thread);
            self.drop_if_empty(key);
        }
    }

    fn add(&mut self, key: u64, waiter: Waiter) {
        self.keys[waiter.thread] = Some(key);
        self.by_key.entry(key).or_default().push_back(waiter);
    }

    /// Keys that nobody waits at take no memory.
    fn drop_if_empty(&mut self, key: u64) {
        if self.by_key.get(&key).is_some_and(VecDeque::is_empty) {
            self.by_key.remove(&key);
        }
    }
}
