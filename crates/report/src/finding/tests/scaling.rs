// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of the whole curve, and of runs that failed.
use super::said;
use crate::sample::*;

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
fn work_that_grows_names_its_function() {
    let mut runs = [timed(1, 1_000_000), timed(8, 1_000_000)];
    runs[0].functions = vec![function("add", 10, 90.0, 90.0, 0.0), function("sum", 20, 10.0, 10.0, 0.0)];
    runs[1].functions = vec![function("sum", 20, 85.0, 85.0, 0.0), function("add", 10, 15.0, 15.0, 0.0)];
    let text = said(&runs);
    assert!(
        text.contains(
            "the same work takes 8.0× the CPU time, and the share of sum (counter.c:20) in CPU time grew most, to 85%"
        ),
        "{text}"
    );
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
