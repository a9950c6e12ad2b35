// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futexes, with the timers that end their waits.
use super::*;
use crate::timers::Due;
use alloc::vec;
use proptest::prelude::*;

const ANY: u32 = u32::MAX;

/// Futexes, timers, and the time.
#[derive(Default)]
struct Kernel {
    futexes: Futexes,
    timers: Timers,
    now: Ticks,
}

impl Kernel {
    fn begin(&mut self, key: u64, sleeper: Sleeper) -> Asleep {
        self.futexes.wait(&mut self.timers, key, sleeper, self.now)
    }

    /// The thread waits for any wake-up, without a deadline.
    fn sleep(&mut self, key: u64, thread: usize) {
        self.sleep_for(key, thread, ANY, None);
    }

    fn sleep_for(&mut self, key: u64, thread: usize, bits: u32, deadline: Option<Ticks>) {
        let sleeper = Sleeper { thread, bits, found: 7, expected: 7, deadline };
        assert_eq!(self.begin(key, sleeper), Asleep::Yes);
    }

    /// Wakes up to `most`; returns who they are.
    fn wake(&mut self, key: u64, most: usize, bits: u32) -> Vec<usize> {
        (0..most).map_while(|_| self.futexes.wake(&mut self.timers, key, bits)).collect()
    }

    fn wake_all(&mut self, key: u64) -> Vec<usize> {
        self.wake(key, usize::MAX, ANY)
    }

    /// The time becomes `now`: whose waits are over.
    fn pass(&mut self, now: Ticks) -> Vec<usize> {
        self.now = now;
        let mut over = Vec::new();
        while let Some((_, Due::Thread(thread))) = self.timers.pop(now) {
            self.futexes.forget(thread);
            over.push(thread);
        }
        over
    }
}

#[test]
fn a_wake_up_finds_those_who_wait_for_its_bits_in_order_of_arrival() {
    let mut kernel = Kernel::default();
    [(1, 1), (2, 2), (3, 3)].into_iter().for_each(|(thread, bits)| kernel.sleep_for(64, thread, bits, None));
    kernel.sleep(128, 4);
    assert_eq!([kernel.wake(64, 9, 4), kernel.wake(64, 1, 2)], [vec![], vec![2]]);
    assert_eq!([kernel.wake(64, 9, 1), kernel.wake_all(64), kernel.wake_all(128)], [vec![1, 3], vec![], vec![4]]);
    assert!(kernel.futexes.by_key.is_empty());
}

#[test]
fn a_thread_that_comes_too_late_does_not_wait() {
    let mut kernel = Kernel { now: 100, ..Kernel::default() };
    let sleeper = |found, deadline| Sleeper { thread: 0, bits: ANY, found, expected: 7, deadline };
    assert_eq!(kernel.begin(64, sleeper(8, None)), Asleep::Changed);
    assert_eq!(kernel.begin(64, sleeper(8, Some(50))), Asleep::Changed, "the value counts first");
    assert_eq!(kernel.begin(64, sleeper(7, Some(100))), Asleep::TooLate);
    assert!(kernel.timers.is_empty() && kernel.wake_all(64).is_empty());
    assert_eq!(kernel.begin(64, sleeper(7, Some(101))), Asleep::Yes);
    assert_eq!(kernel.wake_all(64), [0]);
}

#[test]
fn a_wait_that_timed_out_takes_no_wake_up() {
    let mut kernel = Kernel::default();
    kernel.sleep_for(64, 1, ANY, Some(10));
    kernel.sleep(64, 2);
    assert_eq!(kernel.pass(10), [1]);
    assert_eq!(kernel.wake(64, 1, ANY), [2]);
}

#[test]
fn a_thread_that_was_woken_is_not_woken_by_its_timer() {
    let mut kernel = Kernel::default();
    kernel.sleep_for(64, 1, ANY, Some(10));
    kernel.sleep_for(64, 2, ANY, Some(10));
    assert_eq!(kernel.wake(64, 1, ANY), [1]);
    // It waits again, for longer.
    kernel.sleep_for(64, 1, ANY, Some(20));
    assert_eq!([kernel.pass(10), kernel.pass(19), kernel.pass(20)], [vec![2], vec![], vec![1]]);
}

#[test]
fn those_who_are_moved_queue_up_behind_those_who_are_there() {
    let mut kernel = Kernel::default();
    [1, 2, 3].into_iter().for_each(|thread| kernel.sleep(64, thread));
    kernel.sleep(128, 4);
    assert_eq!([kernel.futexes.requeue(64, 128, 2), kernel.futexes.requeue(64, 128, 0)], [2, 0]);
    assert_eq!([kernel.wake_all(64), kernel.wake_all(128)], [vec![3], vec![4, 1, 2]]);
    assert_eq!(kernel.futexes.requeue(64, 128, 9), 0);
    assert!(kernel.futexes.by_key.is_empty());
}

#[test]
fn those_who_are_moved_to_where_they_are_keep_their_places() {
    let mut kernel = Kernel::default();
    [1, 2, 3].into_iter().for_each(|thread| kernel.sleep(64, thread));
    assert_eq!([1, u32::MAX].map(|most| kernel.futexes.requeue(64, 64, most)), [1, 3]);
    assert_eq!(kernel.wake_all(64), [1, 2, 3]);
}

#[test]
fn one_who_was_moved_times_out_where_it_is() {
    let mut kernel = Kernel::default();
    kernel.sleep_for(64, 1, 2, Some(10));
    kernel.futexes.requeue(64, 128, 1);
    kernel.sleep(128, 2);
    assert_eq!(kernel.pass(10), [1]);
    assert_eq!([kernel.wake_all(64), kernel.wake_all(128)], [vec![], vec![2]]);
}

const THREADS: usize = 6;

#[derive(Clone, Debug)]
enum Call {
    /// The word has changed, or there is so much time until the deadline.
    Wait {
        thread: usize,
        key: u64,
        bits: u32,
        changed: bool,
        within: Option<Ticks>,
    },
    Wake {
        key: u64,
        most: usize,
        bits: u32,
    },
    Requeue {
        from: u64,
        to: u64,
        most: u32,
    },
    /// A signal comes for the thread.
    Interrupt {
        thread: usize,
    },
    Pass {
        ticks: Ticks,
    },
}

fn call() -> impl Strategy<Value = Call> {
    let within = prop_oneof![Just(None), (0..20u64).prop_map(Some)];
    let wait = (0..THREADS, 0..3u64, 1..4u32, prop::bool::weighted(0.1), within);
    prop_oneof![
        8 => wait.prop_map(|(thread, key, bits, changed, within)| Call::Wait { thread, key, bits, changed, within }),
        2 => (0..3u64, 0..4usize, 1..4u32).prop_map(|(key, most, bits)| Call::Wake { key, most, bits }),
        2 => (0..3u64, 0..3u64, 0..9u32).prop_map(|(from, to, most)| Call::Requeue { from, to, most }),
        1 => (0..THREADS).prop_map(|thread| Call::Interrupt { thread }),
        2 => (0..20u64).prop_map(|ticks| Call::Pass { ticks }),
    ]
}

/// A waiter of the reference: all are in one list, in order of arrival.
#[derive(Clone, Copy, Debug)]
struct Listed {
    thread: usize,
    key: u64,
    bits: u32,
    deadline: Ticks,
    /// When it began to wait: timers that are due at once fire in this order.
    number: usize,
}

/// Takes up to `most` that are as wanted off the list.
fn take(list: &mut Vec<Listed>, most: usize, wanted: impl Fn(&Listed) -> bool) -> Vec<Listed> {
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for waiter in list.drain(..) {
        if taken.len() < most && wanted(&waiter) { taken.push(waiter) } else { left.push(waiter) }
    }
    *list = left;
    taken
}

fn threads(waiters: &[Listed]) -> Vec<usize> {
    waiters.iter().map(|waiter| waiter.thread).collect()
}

/// Each call ends the waits that it ends of the list's, in the same order; what is left waits.
fn check(calls: Vec<Call>) -> Result<(), TestCaseError> {
    let mut kernel = Kernel::default();
    let mut list: Vec<Listed> = Vec::new();
    for (number, call) in calls.into_iter().enumerate() {
        match call {
            // A thread that waits makes no calls.
            Call::Wait { thread, .. } if list.iter().any(|waiter| waiter.thread == thread) => {}
            Call::Wait { thread, key, bits, changed, within } => {
                let deadline = within.map(|within| kernel.now + within);
                let sleeper = Sleeper { thread, bits, found: changed.into(), expected: 0, deadline };
                let expected = match within {
                    _ if changed => Asleep::Changed,
                    Some(0) => Asleep::TooLate,
                    _ => Asleep::Yes,
                };
                prop_assert_eq!(kernel.begin(key, sleeper), expected);
                if expected == Asleep::Yes {
                    list.push(Listed { thread, key, bits, deadline: deadline.unwrap_or(Ticks::MAX), number });
                }
            }
            Call::Wake { key, most, bits } => {
                let woken = take(&mut list, most, |waiter| waiter.key == key && waiter.bits & bits != 0);
                prop_assert_eq!(kernel.wake(key, most, bits), threads(&woken));
            }
            Call::Requeue { from, to, most } if from == to => {
                let waiting = list.iter().filter(|waiter| waiter.key == from).count() as u32;
                prop_assert_eq!(kernel.futexes.requeue(from, to, most), waiting.min(most));
            }
            Call::Requeue { from, to, most } => {
                let moved = take(&mut list, most as usize, |waiter| waiter.key == from);
                prop_assert_eq!(kernel.futexes.requeue(from, to, most) as usize, moved.len());
                list.extend(moved.into_iter().map(|waiter| Listed { key: to, ..waiter }));
            }
            Call::Interrupt { thread } => {
                kernel.timers.cancel(thread);
                kernel.futexes.forget(thread);
                list.retain(|waiter| waiter.thread != thread);
            }
            Call::Pass { ticks } => {
                let now = kernel.now + ticks;
                let mut over = take(&mut list, usize::MAX, |waiter| waiter.deadline <= now);
                over.sort_by_key(|waiter| (waiter.deadline, waiter.number));
                prop_assert_eq!(kernel.pass(now), threads(&over));
            }
        }
        let mut keys: Vec<u64> = list.iter().map(|waiter| waiter.key).collect();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(kernel.futexes.by_key.len(), keys.len(), "keys that nobody waits at take no memory");
    }
    for key in 0..3 {
        let woken = take(&mut list, usize::MAX, |waiter| waiter.key == key);
        prop_assert_eq!(kernel.wake_all(key), threads(&woken));
    }
    prop_assert!(kernel.timers.is_empty(), "a timer outlives its wait");
    Ok(())
}

proptest! {
    #[test]
    fn as_a_plain_list(calls in prop::collection::vec(call(), 0..80)) {
        check(calls)?;
    }
}
