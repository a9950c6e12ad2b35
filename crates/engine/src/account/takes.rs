// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which updates of a word that threads spin on take it, as a lock is taken: those after which their thread does not look
//! at the word, until its next store to it or update of it releases it. An update whose thread then looks has failed,
//! though it may have changed the word (as `lock dec` does), or has taken a ticket.
use alloc::vec::Vec;
use corefold_model::Ticks;

#[derive(Default)]
pub struct Takes {
    /// Of each thread, its last update that may have taken the word.
    by: Vec<Take>,
    /// Of those that were released: how many, and how long they lasted.
    pub count: u64,
    pub held: Ticks,
}

struct Take {
    thread: u32,
    since: Ticks,
    /// What it changed, and to what.
    change: (u64, u64),
}

impl Takes {
    /// An update by the thread has changed the word. Returns whether some thread may hold it now.
    pub fn updated(&mut self, thread: u32, change: (u64, u64), now: Ticks) -> bool {
        match self.of(thread) {
            None => self.by.push(Take { thread, since: now, change }),
            // The same once more: a store that was not seen, as no other CPU had the line, has released it.
            Some(at) if self.by[at].change == change => {
                self.count += 1;
                self.by[at].since = now;
            }
            Some(at) => self.released(at, now),
        }
        !self.by.is_empty()
    }

    /// The thread has stored to the word, which takes effect at `effect`.
    pub fn stored(&mut self, thread: u32, effect: Ticks) -> bool {
        if let Some(at) = self.of(thread) {
            self.released(at, effect);
        }
        !self.by.is_empty()
    }

    /// The thread looks at the word, or spins on it: it has not taken it.
    pub fn looks(&mut self, thread: u32) {
        self.by.retain(|take| take.thread != thread);
    }

    /// Counts begin anew. What is held stays held.
    pub fn clear(&mut self, now: Ticks) {
        (self.count, self.held) = (0, 0);
        self.by.iter_mut().for_each(|take| take.since = now);
    }

    fn of(&self, thread: u32) -> Option<usize> {
        self.by.iter().position(|take| take.thread == thread)
    }

    fn released(&mut self, at: usize, now: Ticks) {
        self.count += 1;
        self.held += now.saturating_sub(self.by.swap_remove(at).since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKE: (u64, u64) = (0, 1);

    #[test]
    fn a_store_or_an_update_releases() {
        let mut takes = Takes::default();
        assert!(takes.updated(1, TAKE, 10) && !takes.stored(1, 15));
        assert!(takes.updated(2, TAKE, 20) && !takes.updated(2, (1, 0), 40));
        assert_eq!((takes.count, takes.held), (2, 25));
        assert!(!takes.stored(3, 50));
        assert_eq!(takes.count, 2);
    }

    #[test]
    fn an_update_after_which_its_thread_looks_takes_nothing() {
        let mut takes = Takes::default();
        takes.updated(1, (1, 0), 10);
        takes.updated(2, (0, u64::MAX), 12);
        takes.looks(2);
        takes.stored(1, 20);
        assert_eq!((takes.count, takes.held), (1, 10));
        takes.updated(2, (1, 0), 30);
        takes.stored(2, 35);
        assert_eq!((takes.count, takes.held), (2, 15));
    }

    #[test]
    fn a_release_that_was_not_seen_counts_with_the_next_take() {
        let mut takes = Takes::default();
        (0..3).for_each(|i| _ = takes.updated(1, TAKE, 10 * i));
        takes.stored(1, 25);
        assert_eq!((takes.count, takes.held), (3, 5));
    }
}
