// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cache of pages behind one `parking_lot::Mutex`.
//! The twin: a cache for each worker, in cache lines of its own.
use parking_lot::Mutex;
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::collections::HashMap;

#[repr(align(128))]
#[derive(Default)]
struct Cache {
    pages: Mutex<HashMap<u64, u64>>,
}

struct Store {
    caches: Vec<Cache>,
}

impl Store {
    fn read(&self, worker: usize, page: u64) {
        let cache = &self.caches[worker % self.caches.len()];
        *cache.pages.lock().entry(page % 64).or_default() += 1;
    }

    fn reads(&self) -> u64 {
        self.caches.iter().map(|cache| cache.pages.lock().values().sum::<u64>()).sum()
    }
}

fn main() {
    let (threads, operations) = arguments();
    let store = Store { caches: (0..if TWIN { threads } else { 1 }).map(|_| Cache::default()).collect() };
    on_threads(threads, operations, |t, share| {
        (0..share).for_each(|n| store.read(t, work((t * share + n) as u64, 40)));
        0
    });
    check("reads", store.reads(), operations);
}
