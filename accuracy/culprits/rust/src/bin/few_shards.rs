// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cache in shards, each a `Mutex<HashMap>`: four, whatever the number of threads.
//! The twin: a shard for each worker, in cache lines of its own.
use rust_culprits::{TWIN, arguments, check, on_threads, work};
use std::collections::HashMap;
use std::sync::Mutex;

#[repr(align(128))]
#[derive(Default)]
struct Shard {
    entries: Mutex<HashMap<u64, u64>>,
}

struct Cache {
    shards: Vec<Shard>,
}

impl Cache {
    fn hit(&self, worker: usize, key: u64) {
        let place = if TWIN { worker } else { (key >> 40) as usize };
        let shard = &self.shards[place % self.shards.len()];
        *shard.entries.lock().unwrap().entry(key % 64).or_default() += 1;
    }

    fn hits(&self) -> u64 {
        self.shards.iter().map(|shard| shard.entries.lock().unwrap().values().sum::<u64>()).sum()
    }
}

fn main() {
    let (threads, operations) = arguments();
    let cache = Cache { shards: (0..if TWIN { threads } else { 4 }).map(|_| Shard::default()).collect() };
    on_threads(threads, operations, |t, share| {
        (0..share).for_each(|n| cache.hit(t, work((t * share + n) as u64, 40)));
        0
    });
    check("hits", cache.hits(), operations);
}
