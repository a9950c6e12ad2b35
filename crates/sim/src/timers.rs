// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens at a known virtual time: sleeps and waits end, the program's timers fire.
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
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
    /// The number of each thread's timer; 0: it has none.
    of_thread: Vec<u64>,
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

    /// The thread's timer, of which it has one at a time.
    pub fn set(&mut self, thread: usize, time: Ticks) {
        let number = self.add(time, Due::Thread(thread));
        self.of_thread.resize(self.of_thread.len().max(thread + 1), 0);
        self.of_thread[thread] = number;
    }

    /// Forgets the thread's timer, if it has one.
    pub fn cancel(&mut self, thread: usize) {
        let number = self.of_thread.get_mut(thread).map_or(0, core::mem::take);
        if number != 0 {
            self.remove(number);
        }
    }

    /// A timer of the program's. Returns what it is removed by, which is never 0.
    pub fn set_alarm(&mut self, alarm: usize, time: Ticks) -> u64 {
        self.add(time, Due::Alarm(alarm))
    }

    fn add(&mut self, time: Ticks, due: Due) -> u64 {
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
        let Reverse((time, _, due)) = self.queue.pop()?;
        if let Due::Thread(thread) = due {
            self.of_thread[thread] = 0;
        }
        Some((time, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn they_come_by_time_then_in_the_order_in_which_they_were_set() {
        let mut timers = Timers::default();
        timers.set(1, 20);
        let removed = timers.set_alarm(2, 10);
        timers.set_alarm(0, 10);
        timers.set(0, 10);
        timers.remove(removed);
        assert_eq!((timers.next(), timers.pop(9)), (10, None));
        assert_eq!(timers.pop(10), Some((10, Due::Alarm(0))));
        assert_eq!(timers.pop(100), Some((10, Due::Thread(0))));
        assert_eq!(timers.pop(Ticks::MAX), Some((20, Due::Thread(1))));
        assert_eq!((timers.pop(Ticks::MAX), timers.next(), timers.is_empty()), (None, Ticks::MAX, true));
    }

    #[test]
    fn a_thread_cancels_its_own_timer_alone() {
        let mut timers = Timers::default();
        timers.set(0, 10);
        timers.set(3, 20);
        timers.set_alarm(3, 30);
        [3, 1, 4].into_iter().for_each(|thread| timers.cancel(thread));
        assert_eq!((timers.pop(50), timers.pop(50)), (Some((10, Due::Thread(0))), Some((30, Due::Alarm(3)))));
        timers.set(3, 40);
        timers.cancel(0);
        assert_eq!(timers.pop(50), Some((40, Due::Thread(3))));
    }

    #[test]
    fn an_alarm_ends_no_threads_wait() {
        let mut timers = Timers::default();
        timers.set(3, 5);
        assert!(timers.are_of(|thread| thread == 3) && !timers.are_of(|thread| thread != 3));
        timers.set_alarm(3, 5);
        assert!(!timers.are_of(|_| true));
    }

    #[derive(Clone, Debug)]
    enum Call {
        /// Of a thread that has none.
        Set(usize, Ticks),
        Cancel(usize),
        SetAlarm(usize, Ticks),
        /// Of the alarms' numbers, the one at this place, whether it is still there or not.
        Remove(usize),
        Pop(Ticks),
    }

    fn call() -> impl Strategy<Value = Call> {
        prop_oneof![
            2 => (0usize..3, 0u64..6).prop_map(|(thread, time)| Call::Set(thread, time)),
            1 => (0usize..3).prop_map(Call::Cancel),
            2 => (0usize..3, 0u64..6).prop_map(|(alarm, time)| Call::SetAlarm(alarm, time)),
            1 => (0usize..8).prop_map(Call::Remove),
            2 => (0u64..8).prop_map(Call::Pop),
        ]
    }

    proptest! {
        /// Against one list in the order in which they were set.
        #[test]
        fn as_a_plain_list(calls in prop::collection::vec(call(), 0..60)) {
            let mut timers = Timers::default();
            let (mut list, mut numbers) = (Vec::<(Ticks, u64, Due)>::new(), Vec::new());
            for call in calls {
                match call {
                    Call::Set(thread, time) => {
                        let due = Due::Thread(thread);
                        if list.iter().all(|(.., other)| *other != due) {
                            timers.set(thread, time);
                            list.push((time, 0, due));
                        }
                    }
                    Call::Cancel(thread) => {
                        timers.cancel(thread);
                        list.retain(|(.., due)| *due != Due::Thread(thread));
                    }
                    Call::SetAlarm(alarm, time) => {
                        let number = timers.set_alarm(alarm, time);
                        prop_assert!(number != 0 && !numbers.contains(&number));
                        numbers.push(number);
                        list.push((time, number, Due::Alarm(alarm)));
                    }
                    Call::Remove(at) => {
                        if let Some(number) = numbers.get(at) {
                            timers.remove(*number);
                            list.retain(|(_, other, _)| other != number);
                        }
                    }
                    Call::Pop(until) => {
                        let first = (0..list.len()).min_by_key(|at| list[*at].0).filter(|at| list[*at].0 <= until);
                        let expected = first.map(|at| list.remove(at)).map(|(time, _, due)| (time, due));
                        prop_assert_eq!(timers.pop(until), expected);
                    }
                }
                let next = list.iter().map(|(time, ..)| *time).min().unwrap_or(Ticks::MAX);
                prop_assert_eq!((timers.next(), timers.is_empty()), (next, list.is_empty()));
                let all_wait = list.iter().all(|(_, _, due)| matches!(due, Due::Thread(0 | 1)));
                prop_assert_eq!(timers.are_of(|thread| thread < 2), all_wait);
            }
        }
    }
}
