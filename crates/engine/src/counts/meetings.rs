// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether an object is used as a barrier: all threads that use it wait, until the last one arrives and wakes them all.
use alloc::vec::Vec;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use corefold_recording::{CpuSet, Meetings};

const NEVER: Ticks = Ticks::MAX;

/// What threads did at one object.
#[derive(Default)]
pub struct Meeting {
    /// Threads that waited or woke others.
    threads: CpuSet,
    waited: CpuSet,
    /// The last thread that woke others, and how many since anybody waited.
    wakes: Option<(u32, u32)>,
    counts: Meetings,
    /// How often each thread woke all others, and which was the last to do so.
    last: Vec<(u32, u64)>,
    latest: Option<u32>,
    /// When each thread last went on from here; [`NEVER`] if it was not here.
    left: Vec<Ticks>,
    /// Of the threads that have arrived since the last round and had been here before: how many, and how long each, and the
    /// longest, had been away.
    away: (u64, Ticks, Ticks),
}

impl Meeting {
    /// A thread that has arrived then begins to wait. Since it last released a lock it was woken from a wait here (`again`), or woke
    /// others (`woke`).
    pub fn waits(&mut self, thread: u32, arrived: Ticks, again: bool, woke: bool) {
        // Who was woken and waits on has not been away.
        if !again {
            self.arrives(thread, arrived);
        }
        self.threads.insert(thread);
        self.waited.insert(thread);
        self.wakes = None;
        self.counts.waits += 1;
        self.counts.again += u64::from(again);
        self.counts.handed_over += u64::from(woke);
    }

    /// A thread that has arrived then has woken so many; `all`: as many as there were. `was_woken`: it was itself, and has not
    /// released its lock since.
    pub fn woke(&mut self, thread: u32, arrived: Ticks, woken: u32, all: bool, was_woken: bool) {
        self.threads.insert(thread);
        self.counts.handed_over += u64::from(was_woken);
        let before = self.wakes.filter(|(by, _)| *by == thread).map_or(0, |(_, woken)| woken);
        if before == 0 {
            self.counts.wakes += 1;
        }
        self.wakes = Some((thread, before + woken));
        let others = self.threads.len() - 1;
        // Two threads that wake each other one by one take turns.
        if before + woken == others && (all || others > 1) {
            self.counts.rounds += 1;
            self.arrives(thread, arrived);
            let (threads, sum, longest) = core::mem::take(&mut self.away);
            if let Some(mean) = sum.checked_div(threads) {
                self.counts.timed_rounds += 1;
                self.counts.uneven += longest - mean;
            }
            self.counts.same_again += u64::from(self.latest.replace(thread) == Some(thread));
            match self.last.iter_mut().find(|(last, _)| *last == thread) {
                Some((_, count)) => *count += 1,
                None => self.last.push((thread, 1)),
            }
        }
        self.leaves(thread, arrived);
    }

    fn arrives(&mut self, thread: u32, arrived: Ticks) {
        if let Some(left) = self.left.get(thread as usize).filter(|left| **left != NEVER) {
            let time = arrived.saturating_sub(*left);
            let (threads, sum, longest) = self.away;
            self.away = (threads + 1, sum + time, longest.max(time));
        }
    }

    /// A thread goes on.
    pub fn leaves(&mut self, thread: u32, now: Ticks) {
        let thread = thread as usize;
        if thread >= self.left.len() {
            self.left.resize(thread + 1, NEVER);
        }
        self.left[thread] = now;
    }

    pub fn counts(&self) -> Meetings {
        let most = self.last.iter().max_by_key(|(thread, count)| (*count, core::cmp::Reverse(*thread)));
        let (last, last_rounds) = most.copied().unwrap_or_default();
        let (threads, waiters) = (self.threads.len(), self.waited.len());
        let uneven = self.counts.uneven / TICKS_PER_CYCLE;
        Meetings { threads, waiters, last, last_rounds, uneven, ..self.counts }
    }
}
