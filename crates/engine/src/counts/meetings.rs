// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether an object is used as a barrier: all threads that use it wait, until the last one arrives and wakes them all.
use alloc::vec::Vec;
use corefold_recording::{CpuSet, Meetings};

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
}

impl Meeting {
    /// A thread begins to wait. Since it last released a lock it was woken from a wait here (`again`), or woke others
    /// (`woke`).
    pub fn waits(&mut self, thread: u32, again: bool, woke: bool) {
        self.threads.insert(thread);
        self.waited.insert(thread);
        self.wakes = None;
        self.counts.waits += 1;
        self.counts.again += u64::from(again);
        self.counts.handed_over += u64::from(woke);
    }

    /// A thread has woken so many; `all`: as many as there were. `was_woken`: it was itself, and has not released its
    /// lock since.
    pub fn woke(&mut self, thread: u32, woken: u32, all: bool, was_woken: bool) {
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
            self.counts.same_again += u64::from(self.latest.replace(thread) == Some(thread));
            match self.last.iter_mut().find(|(last, _)| *last == thread) {
                Some((_, count)) => *count += 1,
                None => self.last.push((thread, 1)),
            }
        }
    }

    pub fn counts(&self) -> Meetings {
        let most = self.last.iter().max_by_key(|(thread, count)| (*count, core::cmp::Reverse(*thread)));
        let (last, last_rounds) = most.copied().unwrap_or_default();
        let (threads, waiters) = (self.threads.len(), self.waited.len());
        Meetings { threads, waiters, last, last_rounds, ..self.counts }
    }
}
