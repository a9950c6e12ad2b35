// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs without work, and threads that wait for others.
use super::{found, said};
use crate::locks::{Shares, shares};
use crate::sample::*;
use corefold_explain::{Explained, LockUse, Stage};
use corefold_recording::{LockKind, Meetings, Time};

#[test]
fn idle_cpus_are_told_from_slow_ones() {
    let mut idle = timed(8, 1_000_000);
    idle.run.time = Time { compute: 1_500_000, ..Time::default() };
    let text = said(&[timed(1, 1_200_000), idle.clone()]);
    assert!(text.contains("only 1.5 of the 8 CPUs had a thread to run. Look"), "{text}");
    idle.run.threads = 3;
    let text = said(&[timed(1, 1_200_000), idle.clone()]);
    assert!(text.contains("had a thread to run, as the program has 3 threads. Look"), "{text}");
    // Where even few of these run, their number is no reason.
    idle.run.threads = 4;
    let text = said(&[timed(1, 1_200_000), idle.clone()]);
    assert!(text.contains("had a thread to run; the program has 4 threads. Look"), "{text}");
    (idle.run.pace.sleeps, idle.run.sleeps_at) = (5_000_000, Some(place("nap", "nap.c", 6)));
    let text = said(&[timed(1, 1_200_000), idle]);
    assert!(text.contains("had a thread to run, as threads slept, longest in nap (nap.c:6). Look"), "{text}");
}

#[test]
fn what_runs_alone_is_told_where_threads_wait_or_are_missing() {
    let alone = |mut runs: Vec<Explained>, percent| {
        let last = runs.last_mut().unwrap();
        last.run.threads = 8;
        last.stage = Some(Stage { name: "merge".into(), file: Some("/src/sort.c".into()), line: Some(4), percent });
        said(&runs)
    };
    let told = "or 60% of the run hardly more than one thread was at work, in merge (sort.c:4).";
    let mut idle = timed(8, 1_000_000);
    idle.run.time = Time { compute: 1_500_000, ..Time::default() };
    let idle = vec![timed(1, 1_200_000), idle];
    assert!(alone(idle.clone(), 60.0).ends_with(&format!("only 1.5 of the 8 CPUs had a thread to run. F{told}")));
    assert!(alone(idle.clone(), 10.0).contains("Look for serial phases"));
    let text = alone(one_lock(), 60.0);
    assert!(
        text.contains("waits for the spun word queue.lock") && text.contains(&format!(" F{told} To try: ")),
        "{text}"
    );
    // A program that scales has no such stage, whatever a sample says.
    assert!(!alone(scaling(), 60.0).contains("merge"));
}

#[test]
fn a_thread_that_works_longer_than_the_others_is_named() {
    let of = |compute, cycles| {
        let mut idle = timed(8, 1_000_000);
        idle.run.time = Time { compute, ..Time::default() };
        idle.run.threads = 8;
        (idle.run.pace.busiest, idle.run.pace.busiest_worked) = (5, cycles);
        said(&[timed(1, 1_200_000), idle])
    };
    let worked = |cycles| of(1_500_000, cycles);
    let named = "Thread 5 was at work for 90% of the run, 10.5 times as long as the others on average.";
    assert!(worked(900_000).contains(named), "{}", worked(900_000));
    assert!(worked(400_000).contains("Look for serial phases"), "even shares would take little: {}", worked(400_000));
    // The others work for 60% of the run, and then for 65%.
    assert!(of(5_160_000, 960_000).contains("1.6 times as long"), "{}", of(5_160_000, 960_000));
    assert!(of(5_480_000, 930_000).contains("Look for serial phases"), "{}", of(5_480_000, 930_000));
}

/// The CPUs are busy enough on average, as all but one are idle together.
#[test]
fn a_serial_stage_is_told_before_nothing_is() {
    let mut run = timed(8, 1_000_000);
    run.run.time = Time { compute: 6_000_000, ..Time::default() };
    run.run.threads = 8;
    let before = said(&[timed(1, 5_000_000), run.clone()]);
    assert!(!before.contains("hardly more than one thread"), "{before}");
    run.stage = Some(Stage { name: "merge".into(), file: Some("/src/sort.c".into()), line: Some(4), percent: 25.0 });
    let text = said(&[timed(1, 5_000_000), run]);
    assert!(
        text.ends_with("For 25% of the run hardly more than one thread was at work, in merge (sort.c:4)."),
        "{text}"
    );
}

#[test]
fn a_thread_that_only_waits_for_the_others_is_no_fault() {
    let waiting = |cycles| {
        let mut run = spend(timed(8, 1_000_000), 80, 0, 0, 20);
        run.locks = vec![lock("done", LockKind::CondVar, 0x9000, cycles)];
        said(&[timed(1, 1_000_000), run])
    };
    assert!(!waiting(1_300_000).contains("condition variable"), "one thread, all the time");
    assert!(waiting(1_600_000).contains("20% of thread time waits for the condition variable done"));
}

#[test]
fn a_barrier_names_the_imbalance() {
    let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
    let mut barrier = lock("hall.changed", LockKind::Barrier, 0x9000, 6_000_000);
    barrier.made = true;
    barrier.contended = 1000;
    let met = Meetings { threads: 8, rounds: 100, last: 5, last_rounds: 95, ..Meetings::default() };
    let met = Meetings { timed_rounds: 99, uneven: 99 * 5_000, ..met };
    barrier.meetings = Some(met);
    run.locks = vec![barrier];
    let text = said(&[timed(1, 1_000_000), run.clone()]);
    let words = "It is a condition variable on which the last thread to arrive broadcasts. Threads arrive unevenly: they \
                 wait 3.00 µs for the last of 8, on average; thread 5 is last in 95% of 100 rounds.";
    assert!(text.contains("waits for the barrier hall.changed") && text.contains(words), "{text}");
    assert!(text.contains("To try: even out the threads' shares of the work."), "{text}");

    let mut said_of = |meetings: Meetings| {
        run.locks[0].meetings = Some(meetings);
        said(&[timed(1, 1_000_000), run.clone()])
    };
    let by_chance = said_of(Meetings { last_rounds: 20, ..met });
    assert!(by_chance.contains("arrive unevenly") && by_chance.contains("To try: meet less often"), "{by_chance}");
    // In two rounds chance tells nothing, and they can hardly meet less often.
    let twice = said_of(Meetings { rounds: 2, last_rounds: 1, timed_rounds: 2, uneven: 2 * 4000, ..met });
    assert!(twice.contains("To try: even out the threads' shares of the work."), "{twice}");
    // Most of what they wait passes until all are awake.
    let even = said_of(Meetings { uneven: 99 * 500, ..met });
    let words = "needs only 250 ns more than the average between two rounds, but they wait 3.00 µs on average";
    assert!(even.contains(words) && even.contains("To try: meet less often"), "{even}");
    let once = said_of(Meetings { rounds: 1, last_rounds: 1, timed_rounds: 0, uneven: 0, ..met });
    assert!(once.contains("The 8 threads meet once, and wait 3.00 µs on average; thread 5 arrives last."), "{once}");
}

/// What makes threads late may be lines that they wait for on their way; the barrier's own word is not.
#[test]
fn lines_that_threads_wait_for_on_their_way_to_a_barrier_are_told() {
    let said_of = |address, stall| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        run.locks = vec![lock("phase", LockKind::Barrier, 0x9000, 6_000_000)];
        run.lines = vec![hot_line(address, "rows (a.c:3)", stall)];
        said(&[timed(1, 1_000_000), run])
    };
    let text = said_of(0x1000, 400_000);
    let (barrier, lines) =
        (text.find("waits for the barrier phase"), text.find("Besides, 25% of CPU time waits for one cache line"));
    assert!(barrier.is_some() && barrier < lines, "{text}");
    assert!(!said_of(0x1000, 50_000).contains("Besides") && !said_of(0x9000, 400_000).contains("Besides"));
}

/// Of 20 rounds of 80 threads, one is last in one at least.
#[test]
fn who_is_last_in_few_rounds_may_be_so_by_chance() {
    let by_chance = |threads, rounds, last_rounds| {
        let mut barrier = lock("phase", LockKind::Barrier, 0x9000, 6_000_000);
        barrier.contended = 1000;
        let met = Meetings { threads, rounds, last_rounds, timed_rounds: 1, uneven: 6_000, ..Meetings::default() };
        barrier.meetings = Some(met);
        matches!(shares(&barrier), Shares::Uneven { by_chance: true })
    };
    assert!(by_chance(80, 20, 1) && by_chance(80, 20, 2) && by_chance(8, 1000, 150));
    assert!(!by_chance(80, 5, 4) && !by_chance(8, 5, 4) && !by_chance(8, 1000, 250));
}

#[test]
fn both_readings_of_two_threads_that_may_meet_at_a_barrier_are_printed() {
    let said_of = |may_be_barrier| {
        let mut run = spend(timed(2, 1_000_000), 20, 0, 0, 80);
        let condition = lock("hall.changed", LockKind::CondVar, 0x9000, 1_600_000);
        run.locks = vec![LockUse { may_be_barrier, ..condition }];
        said(&[timed(1, 1_000_000), run])
    };
    let (both, one) = (said_of(true), said_of(false));
    assert!(
        both.contains("in one of two ways: one waits for the other's output, which comes too slowly; or they meet"),
        "{both}"
    );
    assert!(one.contains("too little work") && !one.contains("barrier"), "{one}");
}

#[test]
fn waiting_for_the_order_to_begin_is_idleness() {
    let beginning = |start_percent: u64, hold_cycles| {
        let mut run = spend(timed(8, 1_000_000), 50, 0, 50, 0);
        let mut line = hot_line(0x1000, "go (start.c:3)", 0);
        line.spin = 4_000_000;
        let mut word = lock("go", LockKind::SpunWord, 0x1000, 4_000_000);
        (word.start_cycles, word.hold_cycles) = (40_000 * start_percent, hold_cycles);
        (run.lines, run.locks) = (vec![line], vec![word]);
        run
    };
    assert_eq!(said(&[beginning(100, 0)]), "No line, lock or function stands out.");
    let text = said(&[timed(1, 4_000_000), beginning(100, 0)]);
    assert!(
        text.contains(
            "only 4.0 of the 8 CPUs had a thread to run, as threads waited for go before they began their work."
        ),
        "{text}"
    );
    assert!(said(&[beginning(0, 0)]).contains("50% of thread time waits for the spun word go"), "waited for later");
    // Held words are locks: those that each CPU takes once, and that are mostly free, are part of the beginning.
    let mut unknown = beginning(0, 0);
    unknown.locks[0].acquisitions = 0;
    assert!(
        said(&[unknown])
            .contains("the spun word go, longest in push (queue.c:18): 970k waits. To try: if it is a lock,"),
        "acquisitions"
    );
    let mut held = beginning(100, 9);
    assert!(said(&[held.clone()]).contains("50% of thread time waits for the spun word go"));
    (held.locks[0].acquisitions, held.locks[0].contended) = (8, 8);
    assert_eq!(said(&[held.clone()]), "No line, lock or function stands out.");
    held.locks[0].hold_cycles = 900_000;
    assert!(said(&[held]).contains("50% of thread time waits for the spun word go"), "one after the other");
}

#[test]
fn sleeps_are_named_where_they_are_more_than_start_up_waits() {
    let slept = |sleeps, started| {
        let mut run = spend(timed(8, 1_000_000), 10, 0, 0, 90);
        (run.run.pace.sleeps, run.run.sleeps_at) = (sleeps, Some(place("nap", "nap.c", 6)));
        let mut barrier = lock("start", LockKind::Barrier, 0x1000, started);
        (barrier.start_cycles, barrier.hold_cycles) = (started, 0);
        run.locks = vec![barrier];
        said(&[timed(1, 500_000), run])
    };
    let text = slept(5_000_000, 1_000_000);
    assert!(text.contains("had a thread to run, as threads slept, longest in nap (nap.c:6)."), "{text}");
    // A tenth of the time, and most CPUs are idle for another reason.
    let text = slept(800_000, 800_000);
    assert!(text.contains("had a thread to run.") || text.contains("had a thread to run; "), "{text}");
    let text = slept(1_000_000, 5_000_000);
    assert!(text.contains("had a thread to run, as threads waited for start before they began their work."), "{text}");
}

#[test]
fn idle_cpus_come_before_a_line_that_the_busy_few_wait_for() {
    let text = said(&creating());
    let (idle, line) = (
        text.find("On average only 10 of the 80 CPUs had a thread to run, as nine of ten of its 80 threads had begun"),
        text.find("38% of CPU time"),
    );
    assert!(idle.is_some() && idle < line, "{text}");
    assert_eq!(found(&creating()).name, "idle");
}

#[test]
fn a_lock_that_keeps_the_cpus_idle_stays_the_finding() {
    let blocked = |wait_percent: u64| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        run.locks = vec![lock("m", LockKind::Mutex, 0x9000, wait_percent * 80_000)];
        said(&[timed(1, 1_000_000), run])
    };
    assert!(blocked(75).contains("75% of thread time waits for the mutex m, longest in push (queue.c:18): 97% of its 1.00M acquisitions had to wait. "), "{}", blocked(75));
    assert!(
        blocked(75).ends_with(" To try: hold it for less time, take it less often, or split what it guards."),
        "{}",
        blocked(75)
    );
    assert!(!blocked(75).contains("a thread to run"), "{}", blocked(75));
    let text = blocked(10);
    assert!(
        text.contains("On average only 1.6 of the 8 CPUs") && text.contains("Besides, 10% of thread time"),
        "{text}"
    );
    assert!(text.contains("To try against that wait: hold it for less time"), "{text}");
}
