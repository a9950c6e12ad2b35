// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::Work;
use crate::sample::*;
use corefold_explain::{Beside, Explained, FieldUse, LockUse, Neighbours, PassedUse, SiteUse, Stage, judge};
use corefold_recording::{AccessKind, CLASSES, LockKind, Meetings, Time};

fn said(runs: &[Explained]) -> String {
    finding(&Curve::new(runs, Work::Total)).text()
}

/// A run of 8 CPUs whose hottest line costs this share of its CPU time, in percent.
fn with_line(percent: u64) -> Vec<Explained> {
    let mut run = spend(timed(8, 1_000_000), 40, 60, 0, 0);
    run.lines = vec![hot_line(0x1000, "counter (c.c:1)", percent * 80_000)];
    vec![timed(1, 1_000_000), run]
}

#[test]
fn a_line_is_named_from_five_percent_on() {
    assert!(said(&with_line(5)).contains("5.0% of CPU time waits for one cache line of counter (c.c:1)"));
    assert!(!said(&with_line(4)).contains("counter (c.c:1)"));
    assert!(said(&with_line(4)).contains("no single object, line or lock stands out"));
}

#[test]
fn lines_that_nobody_else_wants_are_named_where_most_waiting_is_for_them() {
    let mut runs = with_line(4);
    let streamed = |stall| PassedUse {
        object: "table (t.c:3)".into(),
        at: Some(place("sum", "t.c", 9)),
        kind: AccessKind::Read,
        transfers_by_class: [0; CLASSES],
        stall,
        stall_percent: 0.0,
        fields: Vec::new(),
    };
    runs[1].passed = vec![streamed(3_000_000)];
    let text = said(&runs);
    assert!(
        text.contains("60% of CPU time waits for cache lines, 62% of it for lines of table (t.c:3), in sum (t.c:9),")
    );
    assert!(
        text.contains(", that nobody else wants: for the latency or the bandwidth of caches and memory."),
        "{text}"
    );
    runs[1].passed = vec![streamed(2_000_000)];
    assert!(said(&runs).contains("no single object, line or lock stands out"));
}

#[test]
fn few_threads_show_nothing_of_many_cpus() {
    let mut runs = scaling();
    runs.last_mut().unwrap().run.threads = 5;
    assert!(said(&runs).ends_with("No line, lock or function stands out."), "{}", said(&runs));
}

#[test]
fn private_work_blames_nothing() {
    let mut runs = scaling();
    let text = said(&runs);
    assert!(text.ends_with("No line, lock or function stands out: it scales."), "{text}");
    // On hardware threads that share a core, everything gets slower alike.
    let slower = spend(timed(80, 2_000_000), 99, 1, 0, 0);
    runs.last_mut().unwrap().run = slower.run;
    let text = said(&runs);
    assert!(text.contains("No line, lock or function stands out"), "{text}");
    assert!(text.contains("evenly over all functions. Possible causes: hardware threads"), "{text}");
}

#[test]
fn false_sharing_adds_up_over_the_lines_of_an_object() {
    let text = said(&false_sharing());
    assert!(text.starts_with("At 80 CPUs the program is 3.1× as fast as on one; it was fastest at 16 CPUs"), "{text}");
    assert!(text.contains("68% of CPU time waits for 10 cache lines of struct pcc at counter.c:52"), "{text}");
    let who = "False sharing: add (counter.c:31) writes pcc.counters[0-79].delta: different CPUs write different fields \
               of one line; padding would separate the elements of pcc.counters[0-79].delta.";
    assert!(text.contains("(heap, 640 bytes): 100% of it for pcc.counters[0-79].delta. "), "{text}");
    assert!(text.ends_with(who), "{text}");
}

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
fn work_that_grows_names_its_function() {
    let mut runs = [timed(1, 1_000_000), timed(8, 1_000_000)];
    runs[0].functions = vec![function("add", 10, 90.0, 90.0, 0.0), function("sum", 20, 10.0, 10.0, 0.0)];
    runs[1].functions = vec![function("sum", 20, 85.0, 85.0, 0.0), function("add", 10, 15.0, 15.0, 0.0)];
    let text = said(&runs);
    assert!(text.contains("the same work takes 8.0× the CPU time, and sum (counter.c:20) grew most, to 85%"), "{text}");
}

#[test]
fn one_run_alone_has_no_speed_but_a_cause() {
    let runs = [false_sharing().pop().unwrap()];
    assert!(said(&runs).starts_with("68% of CPU time waits for 10 cache lines"));
    assert_eq!(said(&[timed(1, 10)]), "No line, lock or function stands out.");
}

#[test]
fn failures_come_first() {
    let text = said(&failing());
    assert_eq!(text, "The run at 80 CPUs was stopped at the time limit (and 2 more failed).");
    assert_eq!(said(&[failed(1, "exited with code 3")]), "The run at 1 CPU exited with code 3.");
    assert_eq!(said(&[]), "");
}

#[test]
fn every_ending_makes_a_sentence() {
    for (summary, sentence) in [
        (
            "crashed: SIGSEGV at address 0x10 in thread 4",
            "The run at 8 CPUs crashed: SIGSEGV at address 0x10 in thread 4.",
        ),
        (
            "deadlock: every thread waits for another",
            "The run at 8 CPUs ended in a deadlock: every thread waits for another.",
        ),
        ("out of memory: 64 bytes were requested", "The run at 8 CPUs ran out of memory: 64 bytes were requested."),
        ("cannot be simulated: fork", "The run at 8 CPUs cannot be simulated: fork."),
        (
            "cannot be simulated: fork() cannot be simulated: a run is one process",
            "The run at 8 CPUs did not end: fork() cannot be simulated: a run is one process.",
        ),
        ("did not finish", "The run at 8 CPUs did not finish."),
        ("eaten by a grue", "The run at 8 CPUs failed: eaten by a grue."),
    ] {
        assert_eq!(said(&[failed(8, summary)]), sentence);
    }
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
    barrier.meetings = Some(met);
    run.locks = vec![barrier];
    let text = said(&[timed(1, 1_000_000), run]);
    let words = "It is a condition variable on which the last thread to arrive broadcasts. Threads arrive unevenly: they \
                 wait 3.00 µs for the last of 8, on average; thread 5 is last in 95% of 100 rounds.";
    assert!(text.contains("waits for the barrier hall.changed") && text.contains(words), "{text}");
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

/// The threads of a barrier count themselves, and poll the word that the last of them changes.
#[test]
fn what_is_counted_beside_a_flag_has_a_remedy_too() {
    let mut run = spend(timed(8, 1_000_000), 10, 40, 50, 0);
    let mut line = hot_line(0x1000, "barrier (b.c:3)", 3_200_000);
    line.spin = 4_000_000;
    let arrive = site(&place("arrive", "b.c", 10), AccessKind::Rmw, "barrier.value", 3_200_000, 0);
    let poll = site(&place("poll", "b.c", 20), AccessKind::AtomicLoad, "barrier.sense", 0, 4_000_000);
    line.sites = vec![against(arrive, "barrier.value"), poll];
    let mut sense = lock("barrier.sense", LockKind::SpunWord, 0x1008, 3_000_000);
    sense.acquisitions = 0;
    (run.lines, run.locks) = (vec![line], vec![sense]);
    for (wait, named) in [(3_000_000, "one cache line of barrier"), (4_000_000, "the spun word barrier.sense")] {
        run.locks[0].wait_cycles = wait;
        let text = said(&[timed(1, 1_000_000), run.clone()]);
        assert!(text.contains(named), "{text}");
        assert!(
            text.contains("if a flag, set it sooner; for what is counted beside it, a part for each CPU"),
            "{text}"
        );
    }
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
    let text = slept(1_000_000, 5_000_000);
    assert!(text.contains("had a thread to run, as threads waited for start before they began their work."), "{text}");
}

/// Two functions that use a field each of one line; `against` tells which field the other CPU wrote.
fn pair(right: AccessKind, against: [&str; 2]) -> Vec<Explained> {
    let mut run = spend(timed(2, 1_000_000), 40, 60, 0, 0);
    let mut line = hot_line(0x1000, "pair (pair.c:3)", 1_100_000);
    let site = |name, line, kind, field, stall| site(&place(name, "pair.c", line), kind, field, stall, 0);
    line.sites = vec![
        crate::sample::against(site("left", 10, AccessKind::Rmw, "pair.a", 100_000), against[0]),
        crate::sample::against(site("right", 20, right, "pair.b", 1_000_000), against[1]),
    ];
    run.lines = vec![line];
    vec![timed(1, 1_000_000), run]
}

#[test]
fn two_fields_of_one_line_are_both_named_with_their_writers() {
    let text = said(&pair(AccessKind::Rmw, ["pair.b", "pair.a"]));
    assert!(
        text.contains("False sharing: right (pair.c:20) and left (pair.c:10) write pair.b and pair.a: different"),
        "{text}"
    );
    assert!(text.ends_with("padding would separate pair.b from pair.a."), "{text}");
    // And a reader of what nobody writes is the victim.
    let text = said(&pair(AccessKind::Read, ["pair.a", "pair.a"]));
    assert!(text.contains("False sharing: left (pair.c:10) writes pair.a, and"), "{text}");
    assert!(text.contains("so takes the line from right (pair.c:20): a read-mostly word beside a written one; padding would separate pair.b from"), "{text}");
    let text = said(&pair(AccessKind::Rmw, ["pair.a", "pair.b"]));
    assert!(
        text.contains("True sharing: ") && text.contains("padding would not help. To try: a part for each CPU,"),
        "{text}"
    );
}

/// Of the line's false sharing, this share of `left`'s and `right`'s is between elements of an array.
fn beside(percent: u64) -> String {
    let mut runs = pair(AccessKind::Rmw, ["pair.b", "pair.a"]);
    for site in &mut runs[1].lines[0].sites {
        let mut conflict = site.conflicts[0].clone();
        conflict.beside = Some(Beside {
            kind: Neighbours::Elements,
            name: format!("pair[{}]", site.address),
            type_name: Some("struct pair".into()),
            other_type: None,
            address: site.address,
            size: 16,
            line_bytes: 64,
            is_heap: true,
        });
        conflict.count = percent;
        site.conflicts[0].count = 100 - percent;
        site.conflicts.push(conflict);
    }
    runs[1].lines[0].verdict = judge(runs[1].lines[0].sites.iter(), |_| true);
    said(&runs)
}

#[test]
fn elements_beside_each_other_are_told_from_fields_beside_each_other() {
    let (fields, both, elements) = (beside(5), beside(50), beside(95));
    let (padding, aligning) =
        ("padding would separate pair.b from pair.a", "aligning struct pair (16 bytes), and the array, to 64 bytes");
    assert!(fields.ends_with(&format!("{padding}.")), "{fields}");
    assert!(both.ends_with(&format!("{padding}, and {aligning} would separate the elements.")), "{both}");
    assert!(
        elements.contains(": elements of one array share lines; aligning") && !elements.contains(padding),
        "{elements}"
    );
}

#[test]
fn the_field_that_is_waited_for_longest_comes_first_with_its_share() {
    let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
    assert!(said(&runs).contains("pair (pair.c:3): 91% of it for pair.b, 9.1% for pair.a. True"), "{}", said(&runs));
    let sites = &mut runs[1].lines[0].sites;
    for n in 0..4 {
        sites.push(site(&place("rest", "pair.c", 30), AccessKind::Rmw, &format!("pair.rest{n}"), 25_000, 0));
    }
    let text = said(&runs);
    assert!(
        text.contains(": 91% of it for pair.b, 9.1% for pair.a, 2.3% for pair.rest0, 6.8% for 3 other fields."),
        "{text}"
    );
}

#[test]
fn an_object_is_judged_by_all_its_lines_and_its_own_accesses() {
    let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
    // A hotter line of the same object, on which a neighbour is truly shared, and the object suffers for lying there.
    let mut hottest = hot_line(0x1040, "pair (pair.c:3)", 90_000_000);
    let mut neighbour = hottest.objects[0].clone();
    neighbour.name = "beside (pair.c:9)".into();
    hottest.objects.push(neighbour);
    hottest.fields.push(FieldUse { name: "beside".into(), object: Some(1), stall: 1, ..FieldUse::default() });
    let own = site(&place("own", "pair.c", 40), AccessKind::Read, "pair.c", 50_000_000, 0);
    let other = site(&place("other", "pair.c", 50), AccessKind::Rmw, "beside", 40_000_000, 0);
    hottest.sites = vec![against(own, "beside"), SiteUse { field_index: 1, ..against(other, "beside") }];
    runs[1].lines.push(hottest);
    let text = said(&runs);
    assert!(text.contains("and so take the line from own (pair.c:40): a read-mostly word"), "{text}");
}

#[test]
fn a_fastest_point_that_is_no_faster_than_the_first_is_not_named() {
    let runs = [timed(1, 1000), timed(2, 990), timed(8, 4000)];
    assert!(said(&runs).starts_with("At 8 CPUs the program is 4.0× slower than on one."), "{}", said(&runs));
    let runs = [timed(1, 1000), timed(2, 800), timed(8, 4000)];
    assert!(said(&runs).contains("it was fastest at 2 CPUs, 1.2×"), "{}", said(&runs));
}

#[test]
fn what_scales_is_not_blamed_as_if_it_did_not() {
    let mut run = spend(timed(8, 125_000), 90, 10, 0, 0);
    run.lines = vec![hot_line(0x1000, "counter (c.c:1)", 80_000)];
    let text = said(&[timed(1, 1_000_000), run]);
    assert!(text.contains("It scales, yet 8.0% of CPU time waits for one cache line of counter"), "{text}");
}

#[test]
fn equal_speeds_are_called_equal() {
    assert!(said(&[timed(1, 1000), timed(8, 1010)]).starts_with("At 8 CPUs the program is no faster than on one."));
    let on_eight = said(&[timed(8, 1000), timed(16, 500)]);
    assert!(on_eight.starts_with("At 16 CPUs the program is 2.0× as fast as on 8."), "{on_eight}");
}

#[test]
fn idle_cpus_come_before_a_line_that_the_busy_few_wait_for() {
    let text = said(&creating());
    let (idle, line) = (
        text.find("On average only 10 of the 80 CPUs had a thread to run, as nine of ten of its 80 threads had begun"),
        text.find("38% of CPU time"),
    );
    assert!(idle.is_some() && idle < line, "{text}");
    assert_eq!(finding(&Curve::new(&creating(), Work::Total)).name, "idle");
}

/// Rust's locks are futexes to the runtime: their type says what to try.
#[test]
fn what_to_try_depends_on_the_type_of_rust_s_lock() {
    let remedy = |kind: &str| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        run.locks = vec![lock("pool.word", LockKind::Futex, 0x9000, 6_000_000)];
        run.locks[0].type_name = Some(kind.into());
        finding(&Curve::new(&[timed(1, 1_000_000), run], Work::Total)).remedy
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
    let cause = finding(&Curve::new(&[timed(1, 1_000_000), run], Work::Total)).cause;
    let lists = "It guards one of parking_lot's lists of threads that sleep until a lock is free";
    assert!(cause.contains(&format!("{lists}: here, the dashmap RwLock shard.")), "{cause}");
}

#[test]
fn clones_of_an_arc_are_updates_of_its_count() {
    let remedy = |field: &str| {
        let mut run = spend(timed(2, 1_000_000), 40, 60, 0, 0);
        let mut line = hot_line(0x1000, "ArcInner<Config> at main.rs:3", 1_100_000);
        let add = site(&place("f", "main.rs", 9), AccessKind::Rmw, field, 300_000, 0);
        line.sites = vec![against(add, field)];
        run.lines = vec![line];
        finding(&Curve::new(&[timed(1, 1_000_000), run], Work::Total)).remedy
    };
    assert!(remedy("ArcInner<Config>.strong").contains("fewer clones"), "{}", remedy("ArcInner<Config>.strong"));
    assert!(remedy("ArcInner<Config>.data.strong").contains("a part for each CPU, or fewer updates"));
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
        finding(&Curve::new(&[timed(1, 1_000_000), run], Work::Total)).remedy
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

#[test]
fn what_to_try_depends_on_who_writes() {
    let remedy = |runs: &[Explained]| finding(&Curve::new(runs, Work::Total)).remedy;
    // False sharing: the verdict says what would separate the fields.
    assert_eq!(remedy(&pair(AccessKind::Rmw, ["pair.b", "pair.a"])), "");
    assert!(remedy(&pair(AccessKind::Rmw, ["pair.a", "pair.b"])).contains("a part for each CPU, or fewer"));
    assert!(remedy(&pair(AccessKind::Write, ["pair.a", "pair.b"])).contains("store only when the value changes"));
}

/// Readers of a reader-writer lock never wait for it, and all write its line.
#[test]
fn a_line_that_is_a_lock_is_called_one() {
    let with = |kind, name: &str| {
        let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
        let mut lock = lock(name, kind, 0x1000, 0);
        (lock.acquisitions, lock.contended) = (1000, 0);
        runs[1].locks = vec![lock];
        said(&runs)
    };
    let readers = with(LockKind::RwLock, "pair.b");
    assert!(
        readers.contains(
            " pair.b is a rwlock (read locks write its line, too): 0% of its 1.00k acquisitions had to wait."
        ),
        "{readers}"
    );
    assert!(readers.contains("To try: for readers, a lock that they do not write to"), "{readers}");
    assert!(with(LockKind::Mutex, "pair.b").contains("To try: hold it for less time"));
    assert!(!with(LockKind::RwLock, "pair.a").contains("rwlock"), "the other field is what costs");
    assert!(!with(LockKind::RwLock, "pair").contains("To try: hold"), "a part of it");
    let counter = |name: &str| {
        let mut runs = pair(AccessKind::Rmw, ["pair.a", "pair.b"]);
        runs[1].lines[0].sites[1].field = name.into();
        runs[1].locks = vec![lock("pair.b", LockKind::Spinlock, 0x1000, 0)];
        said(&runs)
    };
    assert!(!counter("pair.b_count").contains("spinlock"), "what is called alike: {}", counter("pair.b_count"));
}
