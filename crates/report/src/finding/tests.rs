// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::Work;
use crate::sample::*;
use corefold_explain::{Explained, Sharing};
use corefold_recording::{AccessKind, Time};

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
fn private_work_blames_nothing() {
    let mut runs = scaling();
    let text = said(&runs);
    assert!(text.ends_with("No line, lock or function stands out: it scales."), "{text}");
    // On hardware threads that share a core, everything gets slower alike.
    let slower = spend(timed(80, 2_000_000), 99, 1, 0, 0);
    runs.last_mut().unwrap().run = slower.run;
    let text = said(&runs);
    assert!(text.contains("No line, lock or function stands out"), "{text}");
    assert!(text.ends_with("as on hardware threads that share a core."), "{text}");
}

#[test]
fn false_sharing_adds_up_over_the_lines_of_an_object() {
    let text = said(&false_sharing());
    assert!(text.starts_with("At 80 CPUs the program is 3.1× as fast as on one; it was fastest at 16 CPUs"), "{text}");
    assert!(text.contains("68% of CPU time waits for 10 cache lines of struct pcc at counter.c:52"), "{text}");
    assert!(text.ends_with("each CPU its own bytes of a line that others write too. Padding removes it."), "{text}");
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
    let text = said(&[timed(1, 1_200_000), idle]);
    assert!(text.contains("had a thread to run, as the program has 3 threads. Look"), "{text}");
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
    assert_eq!(text, "The run at 80 CPUs was stopped because its time was up (and 2 more failed).");
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
        ("out of memory: 64 bytes were asked for", "The run at 8 CPUs ran out of memory: 64 bytes were asked for."),
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
    assert!(text.contains("only 4.0 of the 8 CPUs had a thread to run, as threads waited for go to begin."), "{text}");
    assert!(said(&[beginning(0, 0)]).contains("50% of thread time waits for the spun word go"), "waited for later");
    // Held words are locks: those that each CPU takes once, and that are mostly free, are part of the beginning.
    let mut held = beginning(100, 9);
    assert!(said(&[held.clone()]).contains("50% of thread time waits for the spun word go"));
    held.locks[0].acquisitions = 8;
    assert_eq!(said(&[held.clone()]), "No line, lock or function stands out.");
    held.locks[0].hold_cycles = 900_000;
    assert!(said(&[held]).contains("50% of thread time waits for the spun word go"), "one after the other");
}

#[test]
fn two_fields_of_one_line_are_both_named_with_their_writers() {
    let mut run = spend(timed(2, 1_000_000), 40, 60, 0, 0);
    let mut line = hot_line(0x1000, "pair (pair.c:3)", 1_100_000);
    let write = |name, line, field| site(&place(name, "pair.c", line), AccessKind::Rmw, field, 550_000, 0);
    line.sites = vec![write("left", 10, "pair.a"), write("right", 20, "pair.b")];
    line.verdict.sharing = Sharing::False;
    run.lines = vec![line];
    let text = said(&[timed(1, 1_000_000), run.clone()]);
    assert!(text.contains("left (pair.c:10) and right (pair.c:20) write pair.a, pair.b, each CPU its own"), "{text}");
    // And a reader of what nobody writes is the victim.
    run.lines[0].sites[1].kind = AccessKind::Read;
    let text = said(&[timed(1, 1_000_000), run]);
    assert!(text.contains("left (pair.c:10) writes pair.a, and so takes the line from right (pair.c:20)"), "{text}");
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
    let (idle, line) =
        (text.find("On average only 10 of the 80 CPUs had a thread to run."), text.find("38% of CPU time"));
    assert!(idle.is_some() && idle < line, "{text}");
    assert!(!text.contains("Padding removes it"), "{text}");
    assert_eq!(finding(&Curve::new(&creating(), Work::Total)).name, "idle");
}

#[test]
fn a_lock_that_keeps_the_cpus_idle_stays_the_finding() {
    let blocked = |wait_percent: u64| {
        let mut run = spend(timed(8, 1_000_000), 20, 0, 0, 80);
        run.locks = vec![lock("m", LockKind::Mutex, 0x9000, wait_percent * 80_000)];
        said(&[timed(1, 1_000_000), run])
    };
    assert!(blocked(75).ends_with("75% of thread time waits for the mutex m, longest in push (queue.c:18): 97% of its 1.00M acquisitions had to wait."), "{}", blocked(75));
    assert!(!blocked(75).contains("a thread to run"), "{}", blocked(75));
    let text = blocked(10);
    assert!(
        text.contains("On average only 1.6 of the 8 CPUs") && text.contains("Besides, 10% of thread time"),
        "{text}"
    );
}

#[test]
fn one_place_more_is_one_place() {
    let mut run = spend(timed(2, 1_000_000), 40, 60, 0, 0);
    let mut line = hot_line(0x1000, "pair (pair.c:3)", 1_100_000);
    let write = |line| site(&place("f", "pair.c", line), AccessKind::Rmw, "pair.a", 300_000, 0);
    line.sites = vec![write(1), write(2), write(3)];
    run.lines = vec![line];
    let text = said(&[timed(1, 1_000_000), run.clone()]);
    assert!(text.contains("and 1 more place write "), "{text}");
    run.lines[0].sites.push(site(&place("f", "pair.c", 4), AccessKind::Rmw, "pair.a", 300_000, 0));
    let text = said(&[timed(1, 1_000_000), run]);
    assert!(text.contains("and 2 more places write "), "{text}");
}
