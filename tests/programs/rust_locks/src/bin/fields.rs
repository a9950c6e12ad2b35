// SPDX-License-Identifier: MIT OR Apache-2.0
//! `fields KIND THREADS`: threads that count in one word, which lies in this kind of object.
use crossbeam_utils::CachePadded;
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::sync::{Arc, Barrier};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
struct Entry {
    key: [u64; 3],
    hits: AtomicU64,
}

enum State {
    #[allow(dead_code)]
    Idle(u64),
    Busy { since: u64, steps: AtomicU64 },
}

struct Slot<T> {
    used: u64,
    value: T,
}

struct Shared(UnsafeCell<Entry>);
// SAFETY: only its atomic field is changed.
unsafe impl Sync for Shared {}

#[derive(Default)]
struct Totals {
    first: u64,
    requests: AtomicU64,
    largest: AtomicU64,
}

static TOTALS: Totals = Totals { first: 0, requests: AtomicU64::new(0), largest: AtomicU64::new(0) };

thread_local! {
    static OWN: Totals = Totals::default();
}

fn on_threads(threads: usize, body: impl Fn(u64) + Sync) {
    let start = Barrier::new(threads);
    let run = |t| {
        start.wait();
        body(t);
    };
    std::thread::scope(|scope| (0..threads as u64).for_each(|t| _ = scope.spawn(move || run(t))));
}

fn count(word: &AtomicU64, threads: usize) {
    on_threads(threads, |_| (0..200).for_each(|_| _ = word.fetch_add(1, Relaxed)));
    assert_eq!(word.load(Relaxed), 200 * threads as u64);
}

/// All threads raise it, one by one.
fn raise(word: &AtomicU64, threads: usize) {
    on_threads(threads, |t| (0..200).for_each(|n| _ = word.fetch_max(n * threads as u64 + t, Relaxed)));
    assert_eq!(word.load(Relaxed), 200 * threads as u64 - 1);
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (kind, threads) = (args.next().unwrap(), args.next().unwrap().parse::<usize>().unwrap());
    let entries = || (0..20).map(|_| Entry::default());
    let go = |word: &AtomicU64| count(word, threads);
    match kind.as_str() {
        "enum" => match &*Arc::new(Some(State::Busy { since: 1, steps: AtomicU64::new(0) })) {
            Some(State::Busy { since, steps }) => go(if *since == 1 { steps } else { unreachable!() }),
            _ => unreachable!(),
        },
        "tuple" => go(&Arc::new((7_u64, AtomicU64::new(0))).1),
        "generic" => {
            let slot = Arc::new(Slot { used: 1, value: Some(Entry::default()) });
            assert_eq!(slot.used, 1);
            go(&slot.value.as_ref().unwrap().hits);
        }
        "cell" => {
            let shared = Box::new(Shared(UnsafeCell::new(Entry::default())));
            // SAFETY: a field that is atomic.
            go(unsafe { &(*shared.0.get()).hits });
        }
        "padded" => {
            let all: Box<[CachePadded<Entry>]> = entries().map(CachePadded::new).collect();
            assert_eq!(all[3].key[0], 0);
            go(&all[3].hits);
        }
        "vec" => go(&entries().collect::<Vec<Entry>>()[5].hits),
        "map" => go(&(0_u32..).zip(entries()).collect::<HashMap<u32, Entry>>()[&7].hits),
        "static" => go(&TOTALS.requests),
        "maximum" => raise(&TOTALS.largest, threads),
        "thread_local" => OWN.with(|own| go(if own.first == 0 { &own.requests } else { unreachable!() })),
        _ => panic!("no such kind"),
    }
    println!("{kind}: {}", TOTALS.first);
}
