// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that count in one place.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tally::Tally;

unsafe extern "C" {
    fn mix(by: i64) -> i64;
}

derive::named!(ROUNDS);

/// Which flags the library was compiled with.
pub fn flags() -> String {
    let all = [
        ("build", cfg!(from_build_flags)),
        ("environment", cfg!(from_environment)),
        ("target", cfg!(from_target_flags)),
        ("double", cfg!(feature = "double")),
    ];
    all.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

pub fn count(threads: usize) -> u64 {
    let tally = Arc::new(Tally::default());
    let add = |tally: &Tally| {
        for _ in 0..ROUNDS {
            tally.hits.fetch_add(1, Ordering::Relaxed);
        }
    };
    let spawn = |tally: Arc<Tally>| std::thread::spawn(move || add(&tally));
    let threads: Vec<_> = (0..threads).map(|_| spawn(tally.clone())).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    tally.hits.load(Ordering::Relaxed)
}

pub fn mixed(times: i64) -> i64 {
    // SAFETY: the function takes any number.
    (0..times).map(|by| unsafe { mix(by) }).last().unwrap_or(0)
}
