// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where nothing is shared, nothing may be blamed.
use crate::harness::{Program, Report, Simulation, program_with};
use std::sync::Mutex;

fn cause(report: &Report) -> (&str, &str) {
    let finding = &report.0["finding"];
    (finding["cause"].as_str().expect("a cause"), finding["text"].as_str().expect("a text"))
}

fn own_structs(options: &[&str]) -> Program {
    program_with("truths/own_structs.c", options)
}

/// The layout of a build has moved, and with it, in a benchmark's figures, anything may: but no line has other
/// users than before, so neither of the builds has anything to explain.
#[test]
fn a_layout_that_only_shifts_explains_nothing() {
    let report = |options: &[&str]| {
        let report = Simulation::of(&own_structs(options)).cpus("1,8").args("{cpus} 20000 spin").report();
        let (cause, text) = cause(&report);
        assert_eq!(cause, "nothing", "{options:?}: {text}");
        report
    };
    let (base, head) = (report(&[]), report(&["-DSHIFTED"]));
    for cpus in [1, 8] {
        let change = head.at(cpus).cycles() as f64 / base.at(cpus).cycles() as f64 - 1.0;
        assert!(change.abs() < 0.01, "{change:+.3} at {cpus} CPUs");
    }
}

/// Threads that wait until all are made wait for nobody's work.
#[test]
fn start_up_waits_are_not_counted_against_a_lock() {
    for how in ["spin", "barrier"] {
        let run =
            |cpus: &str| Simulation::of(&own_structs(&[])).cpus(cpus).args(&format!("{{cpus}} 2000 {how}")).report();
        let alone = run("40");
        let waited = alone.at(40).share("spin") + alone.at(40).share("block");
        assert!(waited > 0.2, "{how}: {waited}");
        assert_eq!(cause(&alone).0, "nothing", "{how}: {}", cause(&alone).1);
        let curve = run("1,40");
        assert_eq!(cause(&curve).0, "idle", "{how}: {}", cause(&curve).1);
        assert!(cause(&curve).1.contains("before they began their work"), "{how}: {}", cause(&curve).1);
    }
}

/// A loop that goes on when the word has changed does not wait for it, nor does one that updates it and goes on.
#[test]
fn who_looks_at_a_word_and_goes_on_does_not_wait_for_it() {
    let ways = [
        ("compares", "the mutex journal"),
        ("maximum", ""),
        ("marks", "True sharing: look"),
        ("bits", "True sharing: look"),
    ];
    for (how, blamed) in ways {
        let program = program_with("truths/looked_at.c", &[]);
        let report = Simulation::of(&program).cpus("1,16").args(&format!("{how} {{cpus}}")).report();
        let spin = report.at(16).share("spin");
        // Unless the word happens to change at the last look.
        assert!(spin < 0.1, "{how}: {spin}");
        let text = cause(&report).1;
        assert!(text.contains(blamed) && !text.contains("spun word"), "{how}: {text}");
    }
}

/// A wait after a thread's work, or of a thread that never gets any, is for nothing to begin.
#[test]
fn idle_threads_at_the_end_are_no_start_up_waits() {
    for how in ["after", "never"] {
        let report =
            Simulation::of(&program_with("truths/idle.c", &[])).cpus("1,8").args(&format!("{{cpus}} {how}")).report();
        let (cause, text) = cause(&report);
        assert_eq!(cause, "lock", "{how}: {text}");
        assert!(text.contains("waits for the condition variable work, longest in worker (idle.c:"), "{how}: {text}");
        let run = report.at(8);
        let locks = run.0["locks"].as_array().expect("locks");
        let work = locks.iter().find(|lock| lock["name"] == "work").expect("the condition variable");
        let cycles = |key: &str| work[key].as_f64().expect("cycles");
        // Before its only job, a worker does wait to begin.
        assert!(cycles("start_cycles") < cycles("wait_cycles") * 0.2, "{how}: {work}");
    }
}

#[test]
fn sleeps_are_named_where_threads_slept_most() {
    let report = Simulation::of(&program_with("truths/idle.c", &[])).cpus("1,16").args("{cpus} sleep").report();
    let (cause, text) = cause(&report);
    assert_eq!(cause, "idle", "{text}");
    assert!(text.contains("as threads slept, longest in sleeper (idle.c:"), "{text}");
}

/// A workload of the accuracy suite, and where it runs there: machine (the host's is any), program, options, threads.
type Private = (String, String, Vec<String>, u64);

/// Those in which nothing is shared.
fn private_workloads() -> Vec<Private> {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../accuracy/suite.toml")).expect("the suite");
    let suite: toml::Table = text.parse().expect("TOML");
    let text = |of: &toml::Value, key: &str| of[key].as_str().unwrap_or_else(|| panic!("no {key}")).to_owned();
    let list = |of: Option<&toml::Value>| of.and_then(|list| list.as_array()).cloned().unwrap_or_default();
    let is_private = |of: &toml::Value| of.get("private").and_then(toml::Value::as_bool) == Some(true);
    let workloads = list(suite["native"].get("workload"));
    let native = workloads.iter().filter(|workload| is_private(workload));
    let native = native.map(|w| ("skylake-2s-80".into(), format!("native/{}.c", text(w, "name")), Vec::new(), 2));
    let mut found: Vec<Private> = native.collect();
    for group in list(suite.get("group")) {
        let shared = group.get("curves").and_then(|name| suite["curves"].get(name.as_str()?));
        let most = list(group.get("threads")).iter().filter_map(toml::Value::as_integer).filter(|n| *n <= 56).max();
        for curve in list(shared.or(group.get("curve"))).iter().filter(|curve| is_private(curve)) {
            let options =
                list(curve.get("options")).iter().map(|o| o.as_str().expect("an option").to_owned()).collect();
            let program = format!("published/{}.c", text(&group, "program"));
            found.push((text(&group, "machine"), program, options, most.unwrap_or(20) as u64));
        }
    }
    found
}

#[test]
fn nothing_is_blamed_in_private_workloads_of_the_accuracy_suite() {
    let workloads = private_workloads();
    assert!(workloads.len() >= 10, "{workloads:?}");
    let left = Mutex::new(workloads.into_iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        let next = || left.lock().unwrap().next();
        while let Some((machine, source, options, threads)) = next() {
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let program = program_with(&format!("../../accuracy/{source}"), &options);
            let run = Simulation::of(&program).option("--machine", &machine).cpus(&threads.to_string());
            let report = run.args("{cpus} 100").report();
            if cause(&report).0 != "nothing" {
                wrong.lock().unwrap().push(format!("{source} {options:?} on {machine}: {}", cause(&report).1));
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
