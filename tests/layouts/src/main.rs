// SPDX-License-Identifier: MIT OR Apache-2.0
//! Three crates as they were before a published change of their layout, each used by threads that share no data of their own.
//! layouts cells|shards|channel THREADS
use crossbeam_utils::atomic::AtomicCell;
use dashmap::DashMap;
use std::sync::{Arc, Barrier};

fn threads(count: usize, work: impl Fn(usize) + Send + Sync + 'static) {
    let (work, begin) = (Arc::new(work), Arc::new(Barrier::new(count)));
    let all: Vec<_> = (0..count)
        .map(|number| {
            let (work, begin) = (work.clone(), begin.clone());
            std::thread::spawn(move || {
                begin.wait();
                work(number);
            })
        })
        .collect();
    all.into_iter().for_each(|one| one.join().unwrap());
}

/// A key of its own for each thread, in a shard of its own.
fn shards(count: usize) {
    let map: DashMap<u64, u64> = DashMap::with_shard_amount((4 * count).next_power_of_two());
    let mut keys: Vec<u64> = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    for key in 0.. {
        let shard = map.determine_map(&key);
        if shard < count && !taken.contains(&shard) {
            taken.push(shard);
            keys.push(key);
            map.insert(key, 0);
        }
        if keys.len() == count {
            break;
        }
    }
    let map = Arc::new(map);
    threads(count, move |number| {
        for _ in 0..4000 {
            *map.get_mut(&keys[number]).unwrap() += 1;
        }
    });
}

/// A cell of its own for each thread, too large for an atomic instruction.
fn cells(count: usize) {
    // Locks are found by address modulo 97: of cells 3008 bytes apart they are neighbours.
    #[repr(align(64))]
    struct Own(AtomicCell<[u64; 4]>, #[allow(dead_code)] [u64; 372]);
    let all: Arc<Vec<Own>> = Arc::new((0..count).map(|_| Own(AtomicCell::new([0; 4]), [0; 372])).collect());
    threads(count, move |number| {
        for turn in 0..4000 {
            all[number].0.store([turn; 4]);
        }
    });
}

/// One receiver of many senders, without a runtime.
fn channel(count: usize) {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let senders: Vec<_> = (1..count)
        .map(|number| {
            let sender = sender.clone();
            std::thread::spawn(move || (0..1500).for_each(|turn| sender.send(number + turn).unwrap()))
        })
        .collect();
    drop(sender);
    let mut sum = 0;
    while let Some(value) = receiver.blocking_recv() {
        sum += value;
    }
    senders.into_iter().for_each(|one| one.join().unwrap());
    assert!(sum > 0);
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (kind, count) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
    match kind.as_str() {
        "shards" => shards(count),
        "cells" => cells(count),
        "channel" => channel(count),
        _ => panic!("shards, cells or channel"),
    }
}
