// SPDX-License-Identifier: MIT OR Apache-2.0
//! Benchmarks that run for a fixed time: their speed is what they did meanwhile, and not how long they took.
use crate::harness::{Report, Simulated, Simulation, program};
use std::collections::HashMap;

const PROGRAM: &str = "duration/fixed.c";

fn run(options: &[(&str, &str)], args: &str) -> Simulated {
    let simulation = Simulation::of(&program(PROGRAM)).cpus("1,8").args(&format!("{{cpus}} {args}"));
    let simulated = options.iter().fold(simulation, |s, (name, value)| s.option(name, value)).run();
    assert_eq!(simulated.said.code, Some(0), "{args}: {}{}", simulated.said.out, simulated.said.err);
    simulated
}

/// What the program itself says that it did at each count.
fn rounds(said: &str) -> HashMap<u64, f64> {
    let parts = said.split("--- output at ").skip(1);
    let number = |text: &str| text.split_whitespace().next().expect("a word").parse::<f64>().expect("a number");
    parts.map(|part| (number(part) as u64, number(part.lines().nth(1).expect("a line")))).collect()
}

fn speedup(report: &Report, cpus: u64) -> f64 {
    report.at(cpus).0["speedup"].as_f64().expect("a speed-up")
}

/// The reported speed-up against that of the rounds that the program counted.
#[track_caller]
fn ratio_to_rounds(args: &str) -> f64 {
    let simulated = run(&[], args);
    let (report, rounds) = (simulated.report(), rounds(&simulated.said.err));
    assert_eq!(report.0["speedup_from"], "blocks", "{args}: {}", simulated.said.out);
    let told = simulated.said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("Note: the program runs for a fixed time: "), "{args}: {told}");
    assert!(told.contains("COREFOLD_PROGRESS"), "{args}: {told}");
    let rate = |cpus: u64| rounds[&cpus] / report.at(cpus).cycles() as f64;
    speedup(&report, 8) / (rate(8) / rate(1))
}

/// Whoever ends it: a sleep, a wait with a time-out, a timer's signal, or each thread that watches the clock.
#[test]
fn one_that_scales_is_reported_so() {
    for how in ["sleep", "timed", "alarm", "poll"] {
        let ratio = ratio_to_rounds(&format!("private {how}"));
        assert!((0.9..1.1).contains(&ratio), "{how}: {ratio}");
    }
}

/// Creating the threads takes the longer, the more there are; what ends the run takes equally long.
#[test]
fn runs_differ_in_length_by_what_comes_before() {
    for how in ["alarm", "each"] {
        let said = Simulation::of(&program(PROGRAM)).cpus("1,32").args(&format!("{{cpus}} private {how}")).run();
        let (report, rounds) = (said.report(), rounds(&said.said.err));
        assert!(report.at(32).cycles() as f64 > report.at(1).cycles() as f64 * 1.06, "{how}: {}", said.said.out);
        assert_eq!(report.0["speedup_from"], "blocks", "{how}: {}", said.said.out);
        let ratio = speedup(&report, 32) / (rounds[&32] / rounds[&1]);
        assert!((0.8..1.2).contains(&ratio), "{how}: {ratio}");
    }
}

#[test]
fn one_that_does_not_scale_is_reported_so() {
    for what in ["mutex sleep", "mutex poll"] {
        let ratio = ratio_to_rounds(what);
        // Samples tell roughly how many blocks ran.
        assert!((0.55..1.25).contains(&ratio), "{what}: {ratio}");
    }
    let report = run(&[], "mutex sleep").report();
    assert!(speedup(&report, 8) < 0.8 && report.0["finding"]["text"].as_str().unwrap().contains("mutex lock"));
}

/// Blocks that run while a locked operation waits take no time of their own: samples meet too few to count them.
#[test]
fn where_nearly_all_time_is_stall_the_work_done_is_not_known() {
    let simulated = run(&[], "atomic sleep");
    assert_eq!(simulated.report().0["speedup_from"], "nothing", "{}", simulated.said.out);
    let told = simulated.said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("How much work it did is not known"), "{told}");
}

#[test]
fn the_place_of_the_sleep_is_reported() {
    let told = run(&[], "private sleep").said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("thread 0 waits for 5.05 ms, at wait_out (fixed.c:"), "{told}");
}

/// The same program with a fixed number of rounds: time is what counts, as ever.
#[test]
fn speed_up_of_fixed_work_is_computed_from_its_time() {
    let simulated = run(&[], "private work");
    let report = simulated.report();
    assert_eq!(report.0["speedup_from"], "time");
    assert!(!simulated.said.out.contains("Note: the program runs") && !simulated.said.out.contains("--work per-cpu"));
    let by_time = report.at(1).cycles() as f64 / report.at(8).cycles() as f64;
    assert!((speedup(&report, 8) / by_time - 1.0).abs() < 1e-3 && by_time > 2.0, "{by_time}");
}

/// Each CPU brings its own work: the report says what would compare the runs rightly, and that does.
#[test]
fn work_per_cpu_is_proposed_where_it_fits() {
    let simulated = run(&[], "private own");
    assert_eq!(simulated.report().0["speedup_from"], "time");
    assert!(simulated.said.out.contains("--work per-cpu"), "{}", simulated.said.out);
    let told = run(&[("--work", "per-cpu")], "private own");
    assert!(!told.said.out.contains("--work per-cpu compares"), "{}", told.said.out);
    assert!(speedup(&told.report(), 8) > 6.0, "{}", told.said.out);
}
