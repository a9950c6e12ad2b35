// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks, and what to try.
use super::{found, said};
use crate::sample::*;
use corefold_explain::{Herd, LockUse};
use corefold_recording::{AccessKind, LockKind};

#[test]
fn a_lock_is_named_rather_than_the_line_it_lies_on() {
    let mut runs = one_lock();
    let text = said(&runs);
    assert!(text.starts_with("At 80 CPUs the program is 8.0× slower than on one."), "{text}");
    assert!(text.contains("waits for the spun word queue.lock, longest in push (queue.c:18): 97%"), "{text}");
    // A lock elsewhere that costs less than the line leaves the line to blame.
    let last = runs.last_mut().unwrap();
    last.locks.truncate(1);
    last.locks[0].address = 0x9_9999;
    last.locks[0].wait_cycles /= 2;
    assert!(said(&runs).contains("waits for one cache line of queue (queue.c:7)"));
}

/// Which costs a little more than the waits for the queue: threads also fetch it to link themselves.
#[test]
fn a_queue_is_named_instead_of_the_line_of_its_nodes() {
    let mut run = spend(timed(8, 1_000_000), 40, 10, 50, 0);
    let mut line = hot_line(0x1000, "nodes (queue.c:3)", 400_000);
    line.spin = 4_000_000;
    let mut queue = lock("door.tail", LockKind::SpinQueue, 0x9000, 4_000_000);
    (queue.spun_on, queue.acquisitions) = (Some(0x1008), 0);
    (run.lines, run.locks) = (vec![line], vec![queue]);
    let text = said(&[timed(1, 1_000_000), run]);
    assert!(text.contains("50% of thread time waits for the spin queue door.tail"), "{text}");
    assert!(text.contains("To try: if it is a lock, hold it for less time"), "{text}");
}

/// Rust's locks are futexes to the runtime: their type says what to try.
#[test]
fn what_to_try_depends_on_the_type_of_rust_s_lock() {
    let remedy = |kind: &str| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        run.locks = vec![lock("pool.word", LockKind::Futex, 0x9000, 6_000_000)];
        run.locks[0].type_name = Some(kind.into());
        found(&[timed(1, 1_000_000), run]).remedy
    };
    let split = "To try: hold it for less time, take it less often, or split what it guards.";
    for (kind, words) in [
        ("Barrier", "To try: even out the threads' shares of the work, or meet less often, with more work between."),
        ("Mutex", split),
        ("parking_lot Mutex", split),
        ("parking_lot RwLock", "for readers, a lock that they do not write to"),
        ("RwLock", "for writers, hold it for less time"),
        ("Condvar", "notify sooner"),
        ("Parker", "pass several items at a time"),
        ("OnceLock", "initialise it before the threads need it"),
        ("tokio Semaphore", "if it counts resources, more of them"),
        ("crossbeam_utils ShardedLock", "a writer takes all shards"),
        ("parking_lot WordLock", "shorter holds of the locks that threads sleep for"),
    ] {
        assert!(remedy(kind).contains(words), "{kind}: {}", remedy(kind));
    }
}

/// A hash of its address says in which list a thread sleeps that waits for a lock, and each list has a lock of its own.
#[test]
fn a_list_of_sleeping_threads_leads_to_the_lock_that_they_wait_for() {
    let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
    let futex = |name: &str, kind: &str, wait| LockUse {
        type_name: Some(kind.into()),
        ..lock(name, LockKind::Futex, 0x9000, wait)
    };
    let elsewhere = LockUse { waited_at: Some(place("pop", "queue.c", 30)), ..futex("other", "Mutex", 500_000) };
    run.locks = vec![
        futex("Bucket[190].mutex", "parking_lot WordLock", 6_000_000),
        elsewhere,
        futex("arena", "Mutex", 200_000),
        futex("shard", "dashmap RwLock", 100_000),
    ];
    let cause = found(&[timed(1, 1_000_000), run]).cause;
    let lists = "It guards one of parking_lot's lists of threads that sleep until a lock is free";
    assert!(cause.contains(&format!("{lists}: here, the dashmap RwLock shard.")), "{cause}");
}

#[test]
fn who_waits_for_a_lock_whose_holder_waits_for_another_waits_for_that_one() {
    let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
    let mut table = lock("table", LockKind::Mutex, 0x9000, 4_000_000);
    table.held_waiting = vec![(0x9100, table.hold_cycles * 3 / 4)];
    run.locks = vec![table, lock("log", LockKind::Mutex, 0x9100, 2_000_000)];
    let text = said(&[timed(1, 1_000_000), run.clone()]);
    assert!(text.contains("62% of thread time waits for the mutex log,"), "{text}");
    assert!(text.contains("60% of it is for table, whose holder waits for log."), "{text}");
    let merge = "or, as these locks are handed over for longer than they are held, one lock in place of them.";
    assert!(!text.contains(merge), "{text}");
    run.locks[1].hold_cycles = 400_000;
    let text = said(&[timed(1, 1_000_000), run.clone()]);
    assert!(text.contains(merge), "{text}");
    run.locks[0].held_waiting.clear();
    let text = said(&[timed(1, 1_000_000), run]);
    assert!(text.contains("waits for the mutex table,") && !text.contains("whose holder"), "{text}");
}

#[test]
fn a_herd_is_told_beside_the_mutex_that_it_takes() {
    let text = |again| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        let have = lock("have", LockKind::CondVar, 0x9100, 1_000_000);
        let have = LockUse { herd: Some(Herd { waits: 1_000_000, again }), ..have };
        run.locks = vec![lock("mu", LockKind::Mutex, 0x9000, 5_000_000), have];
        said(&[timed(1, 1_000_000), run])
    };
    let words = "90% of 1.00M waits at the condition variable have began right after a wake-up there";
    assert!(text(900_000).contains(words), "{}", text(900_000));
    assert!(text(900_000).contains("To try: wake only threads that can go on"), "{}", text(900_000));
    assert!(text(400_000).contains("To try: hold it for less time"), "{}", text(400_000));
}

#[test]
fn one_lock_of_many_that_has_nearly_all_of_the_wait_is_named_alone() {
    let text = |wait| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        run.locks = (0..100).map(|i| lock(&format!("t[{i}].m"), LockKind::Mutex, 0x9000 + 64 * i, 1000)).collect();
        run.locks[7].wait_cycles = wait;
        said(&[timed(1, 1_000_000), run])
    };
    assert!(text(900_000).contains("waits for the mutex t[7].m (one of 100 locks)"), "{}", text(900_000));
    assert!(text(900_000).contains("97% of its 1.00M acquisitions had to wait"), "{}", text(900_000));
    assert!(
        text(800_000).contains("waits for the mutex t[0-99].m (100 locks; the worst, t[7].m:"),
        "{}",
        text(800_000)
    );
}

#[test]
fn one_place_more_is_one_place() {
    let mut run = spend(timed(2, 1_000_000), 40, 60, 0, 0);
    let mut line = hot_line(0x1000, "pair (pair.c:3)", 1_100_000);
    let write = |line| against(site(&place("f", "pair.c", line), AccessKind::Rmw, "pair.a", 300_000, 0), "pair.a");
    line.sites = vec![write(1), write(2), write(3)];
    run.lines = vec![line];
    let text = said(&[timed(1, 1_000_000), run.clone()]);
    assert!(text.contains("and 1 more place write "), "{text}");
    run.lines[0].sites.push(write(4));
    let text = said(&[timed(1, 1_000_000), run]);
    assert!(text.contains("and 2 more places write "), "{text}");
}

#[test]
fn what_to_try_depends_on_the_kind_of_lock() {
    let remedy = |name: &str, kind| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        run.locks = vec![lock(name, kind, 0x9000, 7_000_000)];
        found(&[timed(1, 1_000_000), run]).remedy
    };
    for (name, kind, words) in [
        ("m", LockKind::Mutex, "split what it guards"),
        ("table", LockKind::RwLock, "a lock that they do not write to"),
        ("units", LockKind::Semaphore, "if it counts resources, more of them"),
        ("phase", LockKind::Barrier, "even out the threads' shares"),
        ("lock of stream `log`", LockKind::Library, "a stream, or a larger buffer, for each thread"),
        ("lock of rand()", LockKind::Library, "rand_r"),
        ("malloc arena 0", LockKind::Library, "an allocator that caches for each thread"),
        ("lock of the time zone", LockKind::Library, "keep its result"),
    ] {
        assert!(remedy(name, kind).contains(words), "{name}: {}", remedy(name, kind));
    }
    assert_eq!(remedy("queue", LockKind::CondVar), "", "its sentence has both readings");
}

/// Nobody can split it, or hold it for less time.
#[test]
fn a_lock_in_a_library_is_taken_less_often_by_fewer_calls() {
    let mut runs = one_lock();
    let lock = &mut runs.last_mut().unwrap().locks[0];
    lock.kind = LockKind::Mutex;
    assert!(said(&runs).contains("split what it guards"), "{}", said(&runs));
    runs.last_mut().unwrap().locks[0].of_library = true;
    assert!(
        said(&runs).ends_with("To try: make that call less often, or keep its result where it has one."),
        "{}",
        said(&runs)
    );
}

/// As PostgreSQL's s_lock does: the CPUs are idle because of the lock.
#[test]
fn sleeps_between_attempts_to_take_a_lock_are_told_with_it() {
    let slept = |function: &str| {
        let mut run = spend(timed(8, 1_000_000), 10, 0, 25, 65);
        run.run.threads = 8;
        run.locks = vec![lock("info", LockKind::SpunWord, 0x9000, 2_000_000)];
        (run.run.pace.sleeps, run.run.sleeps_at) = (5_200_000, Some(place(function, "queue.c", 20)));
        said(&[timed(1, 1_000_000), run])
    };
    let text = slept("push");
    assert!(text.contains("25% of thread time waits for the spun word info"), "{text}");
    assert!(text.contains(" For 65% more, threads sleep in push (queue.c:20)."), "{text}");
    assert!(!text.contains("had a thread to run"), "{text}");
    let text = slept("nap");
    assert!(text.contains("had a thread to run") && !text.contains("more, threads sleep"), "{text}");
}
