// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulations beside each other: what they say does not depend on the host's time.
use crate::progress::Progress;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Does this for all of them, one on each CPU of the host at a time; what came of each, in their order.
pub fn side_by_side<I: Sync, T: Send>(
    mut progress: Progress,
    all: &[I],
    name: impl Fn(&I) -> String + Sync,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let mut queue = all.iter().enumerate();
    let take = || {
        let (at, one) = queue.next()?;
        progress.step(&name(one));
        Some((at, one))
    };
    let (take, done) = (Mutex::new(take), Mutex::new(BTreeMap::new()));
    let worker = || {
        let next = || take.lock().expect("taking does not panic")();
        while let Some((at, one)) = next() {
            let result = work(one).with_context(|| name(one));
            done.lock().expect("inserting does not panic").insert(at, result);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    done.into_inner().expect("all workers have ended well").into_values().collect()
}
