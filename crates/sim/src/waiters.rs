// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait until another wakes them, by a key: what the kernel's futexes are made of.
use alloc::collections::VecDeque;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub thread: usize,
    /// Only a wake-up with one of these bits finds it.
    pub bits: u32,
}

/// Those of each key in order of arrival.
#[derive(Default)]
pub struct Waiters {
    by_key: HashMap<u64, VecDeque<Waiter>, FxBuildHasher>,
}

impl Waiters {
    pub fn add(&mut self, key: u64, waiter: Waiter) {
        self.by_key.entry(key).or_default().push_back(waiter);
    }

    /// Takes the first that waits for one of `bits`.
    pub fn take(&mut self, key: u64, bits: u32) -> Option<Waiter> {
        let queue = self.by_key.get_mut(&key)?;
        let at = queue.iter().position(|waiter| waiter.bits & bits != 0)?;
        let waiter = queue.remove(at);
        self.drop_if_empty(key);
        waiter
    }

    /// The thread waits no more.
    pub fn forget(&mut self, key: u64, thread: usize) {
        if let Some(queue) = self.by_key.get_mut(&key) {
            queue.retain(|waiter| waiter.thread != thread);
            self.drop_if_empty(key);
        }
    }

    /// Keys that nobody waits for take no memory.
    fn drop_if_empty(&mut self, key: u64) {
        if self.by_key.get(&key).is_some_and(VecDeque::is_empty) {
            self.by_key.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const ANY: u32 = u32::MAX;

    #[test]
    fn they_are_taken_in_order_of_arrival_by_their_bits() {
        let mut waiters = Waiters::default();
        for (thread, bits) in [(1, 1), (2, 2), (3, 3)] {
            waiters.add(64, Waiter { thread, bits });
        }
        waiters.add(128, Waiter { thread: 4, bits: ANY });
        let mut take = |key, bits| waiters.take(key, bits).map(|waiter| waiter.thread);
        assert_eq!([take(64, 2), take(64, 4), take(64, ANY), take(64, 1)], [Some(2), None, Some(1), Some(3)]);
        assert_eq!([take(64, ANY), take(128, ANY), take(128, ANY)], [None, Some(4), None]);
        assert!(waiters.by_key.is_empty());
    }

    #[derive(Clone, Debug)]
    enum Call {
        Add(u64, usize, u32),
        Take(u64, u32),
        Forget(u64, usize),
    }

    fn call() -> impl Strategy<Value = Call> {
        prop_oneof![
            (0u64..3, 0usize..6, 1u32..4).prop_map(|(key, thread, bits)| Call::Add(key, thread, bits)),
            (0u64..3, 1u32..4).prop_map(|(key, bits)| Call::Take(key, bits)),
            (0u64..3, 0usize..6).prop_map(|(key, thread)| Call::Forget(key, thread)),
        ]
    }

    proptest! {
        /// Against one list of all.
        #[test]
        fn as_a_plain_list(calls in prop::collection::vec(call(), 0..60)) {
            let mut waiters = Waiters::default();
            let mut list: Vec<(u64, Waiter)> = Vec::new();
            for call in calls {
                match call {
                    Call::Add(key, thread, bits) => {
                        waiters.add(key, Waiter { thread, bits });
                        list.push((key, Waiter { thread, bits }));
                    }
                    Call::Take(key, bits) => {
                        let at = list.iter().position(|(k, waiter)| *k == key && waiter.bits & bits != 0);
                        prop_assert_eq!(waiters.take(key, bits), at.map(|at| list.remove(at).1));
                    }
                    Call::Forget(key, thread) => {
                        waiters.forget(key, thread);
                        list.retain(|(k, waiter)| *k != key || waiter.thread != thread);
                    }
                }
                let mut keys: Vec<u64> = list.iter().map(|(key, _)| *key).collect();
                keys.sort();
                keys.dedup();
                prop_assert_eq!(waiters.by_key.len(), keys.len());
            }
        }
    }
}
