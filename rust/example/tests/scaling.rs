// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the pool scales, on a simulated machine.

#[test]
fn a_queue_for_each_thread_scales() {
    corefold::scaling("bench_pool").cpus([1, 4, 16]).at_least(8.0);
}

/// The same bound, which one queue cannot meet: shows what a failure looks like.
#[test]
#[ignore = "fails: one lock limits it"]
fn one_queue_for_all_scales() {
    corefold::scaling("bench_one_lock").cpus([1, 4, 16]).at_least(8.0);
}
