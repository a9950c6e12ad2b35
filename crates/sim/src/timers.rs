// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens at a known virtual time: sleeps and waits end, the program's timers fire.
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use corefold_model::Ticks;

/// Whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A thread's sleep or wait is over.
    Thread(usize),
    /// A timer of the program's.
    Alarm(usize),
}

/// By time, then in the order in which they were set.
#[derive(Default)]
pub struct Timers {
    queue: BinaryHeap<Reverse<(Ticks, u64, Due)>>,
    count: u64,
}

impl Timers {
    /// When the next one is due.
    #[inline]
    pub fn next(&self) -> Ticks {
        self.queue.peek().map_or(Ticks::MAX, |Reverse((time, ..))| *time)
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Does each end the wait of one of these threads?
    pub fn are_of(&self, threads: impl Fn(usize) -> bool) -> bool {
        self.queue.iter().all(|Reverse((_, _, due))| matches!(due, Due::Thread(thread) if threads(*thread)))
    }

    /// Returns what it is removed by, which is never 0.
    pub fn add(&mut self, time: Ticks, due: Due) -> u64 {
        self.count += 1;
        self.queue.push(Reverse((time, self.count, due)));
        self.count
    }

    pub fn remove(&mut self, number: u64) {
        self.queue.retain(|Reverse((_, other, _))| *other != number);
    }

    /// Takes the next one, if that is due by `time`.
    pub fn pop(&mut self, time: Ticks) -> Option<(Ticks, Due)> {
        if self.next() > time {
            return None;
        }
        self.queue.pop().map(|Reverse((time, _, due))| (time, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_by_time_then_in_the_order_in_which_they_were_set() {
        let mut timers = Timers::default();
        timers.add(20, Due::Thread(1));
        let removed = timers.add(10, Due::Thread(2));
        timers.add(10, Due::Alarm(0));
        timers.add(10, Due::Thread(0));
        timers.remove(removed);
        assert_eq!((timers.next(), timers.pop(9)), (10, None));
        assert_eq!(timers.pop(10), Some((10, Due::Alarm(0))));
        assert_eq!(timers.pop(100), Some((10, Due::Thread(0))));
        assert_eq!(timers.pop(Ticks::MAX), Some((20, Due::Thread(1))));
        assert_eq!((timers.pop(Ticks::MAX), timers.next(), timers.is_empty()), (None, Ticks::MAX, true));
    }

    #[test]
    fn an_alarm_ends_no_threads_wait() {
        let mut timers = Timers::default();
        timers.add(5, Due::Thread(3));
        assert!(timers.are_of(|thread| thread == 3) && !timers.are_of(|thread| thread != 3));
        timers.add(5, Due::Alarm(3));
        assert!(!timers.are_of(|_| true));
    }
}
