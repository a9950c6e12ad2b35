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
    /// How many of them while another thread had taken the word, too.
    overlapped: u64,
    /// The first thread that has taken it, and whether another one has.
    first: Option<u32>,
    several: bool,
}

struct Take {
    thread: u32,
    since: Ticks,
    /// What it changed, and to what.
    change: (u64, u64),
}

impl Takes {
    /// An update by the thread has changed the word; `again`: since its last update of it, it has stored nothing. Returns
    /// whether this releases it.
    pub fn updated(&mut self, thread: u32, change: (u64, u64), again: bool, now: Ticks) -> bool {
        self.several |= *self.first.get_or_insert(thread) != thread;
        let take = Take { thread, since: now, change };
        match self.of(thread) {
            None => self.by.push(take),
            Some(at) if again && !undoes(self.by[at].change, change) => self.by[at] = take,
            // The same once more: a store that was not seen, as no other CPU had the line, has released it.
            Some(at) if self.by[at].change == change => {
                self.count += 1;
                self.by[at] = take;
            }
            Some(at) => {
                self.released(at, now);
                return true;
            }
        }
        false
    }

    /// The thread has stored to the word, which takes effect at `effect`.
    pub fn stored(&mut self, thread: u32, effect: Ticks) {
        if let Some(at) = self.of(thread) {
            self.released(at, effect);
        }
    }

    /// Does one of several threads have it at a time, as a lock? Of a count that threads update, each as it likes, all do; and
    /// a thread's own word has one thread only.
    pub fn exclude(&self) -> bool {
        self.several && self.overlapped <= self.count / 2
    }

    /// May a thread hold the word?
    pub fn any(&self) -> bool {
        !self.by.is_empty()
    }

    /// The thread looks at the word, or spins on it: it has not taken it.
    pub fn looks(&mut self, thread: u32) {
        self.by.retain(|take| take.thread != thread);
    }

    /// Counts begin anew. What is held stays held.
    pub fn clear(&mut self, now: Ticks) {
        (self.count, self.held, self.overlapped) = (0, 0, 0);
        self.by.iter_mut().for_each(|take| take.since = now);
    }

    fn of(&self, thread: u32) -> Option<usize> {
        self.by.iter().position(|take| take.thread == thread)
    }

    fn released(&mut self, at: usize, now: Ticks) {
        self.count += 1;
        self.overlapped += u64::from(self.by.len() > 1);
        self.held += now.saturating_sub(self.by.swap_remove(at).since);
    }
}

/// Does the second of two changes reverse the first? Others may have changed other parts of the word in between.
fn undoes(first: (u64, u64), second: (u64, u64)) -> bool {
    first.1.wrapping_sub(first.0) == second.0.wrapping_sub(second.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKE: (u64, u64) = (0, 1);

    #[test]
    fn a_store_or_an_update_releases() {
        let mut takes = Takes::default();
        takes.updated(1, TAKE, false, 10);
        takes.stored(1, 15);
        assert!(!takes.updated(2, TAKE, false, 20) && takes.any());
        assert!(takes.updated(2, (1, 0), false, 40) && !takes.any());
        takes.stored(3, 50);
        assert_eq!((takes.count, takes.held), (2, 25));
    }

    /// As `lock dec` does, of a word that is 1 while it is free.
    #[test]
    fn an_update_after_which_its_thread_looks_takes_nothing() {
        let mut takes = Takes::default();
        takes.updated(1, (1, 0), false, 10);
        takes.updated(2, (0, 255), false, 12);
        takes.looks(2);
        takes.stored(1, 20);
        assert_eq!((takes.count, takes.held), (1, 10));
        takes.updated(2, (1, 0), false, 30);
        takes.stored(2, 35);
        assert_eq!((takes.count, takes.held), (2, 15));
    }

    #[test]
    fn of_updates_with_nothing_in_between_the_last_takes_unless_it_undoes_the_first() {
        let mut takes = Takes::default();
        takes.updated(1, (0, 255), false, 10);
        assert!(!takes.updated(1, (1, 0), true, 20));
        takes.stored(1, 25);
        assert_eq!((takes.count, takes.held), (1, 5));
        takes.updated(1, (0, 32), false, 30);
        assert!(takes.updated(1, (33, 1), true, 40));
        assert_eq!((takes.count, takes.held), (2, 15));
    }

    #[test]
    fn a_count_that_all_threads_update_excludes_nobody() {
        let (mut lock, mut count, mut own) = (Takes::default(), Takes::default(), Takes::default());
        for i in 0..100 {
            let (thread, value) = (i as u32 % 4, i);
            lock.updated(thread, TAKE, false, 10 * i);
            lock.stored(thread, 10 * i + 5);
            count.updated(thread, (value, value + 1), false, 10 * i);
            own.updated(7, (value, value + 1), false, 10 * i);
        }
        assert!(lock.exclude() && lock.count == 100);
        assert!(!count.exclude() && count.count > 0);
        assert!(!own.exclude() && own.count > 0);
    }

    #[test]
    fn a_release_that_was_not_seen_counts_with_the_next_take() {
        let mut takes = Takes::default();
        (0..3).for_each(|i| _ = takes.updated(1, TAKE, false, 10 * i));
        takes.stored(1, 25);
        assert_eq!((takes.count, takes.held), (3, 5));
    }

    /// Others may count in the word meanwhile, and it may wrap around.
    #[test]
    fn an_update_undoes_another_where_it_takes_off_what_that_added() {
        for others in [0, 1, 7, u64::MAX] {
            let first = |from: u64, by: u64| (from, from.wrapping_add(by));
            for (from, by) in [(0, 1), (u64::MAX, 1), (u64::MAX - 2, 5), (3, u64::MAX)] {
                let (before, after) = first(from, by);
                let second = (after.wrapping_add(others), before.wrapping_add(others));
                assert!(undoes((before, after), second));
                assert!(!undoes((before, after), (second.0, second.1.wrapping_add(1))));
            }
        }
    }
}
