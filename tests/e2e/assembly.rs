// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inline assembly: what it does to memory costs what the compiler's own operations cost, and what is not
//! seen of it is said.
use crate::harness::{Report, Simulation, program_with};
use serde_json::Value;

fn contended(options: &[&str], what: &str) -> Report {
    let program = program_with("truths/assembly.c", options);
    Simulation::of(&program).cpus("1,8,80").args(&format!("{{cpus}} 32000 {what}")).report()
}

/// Are the throughputs of both builds within `percent` of each other?
#[track_caller]
fn same(what: &str, percent: f64) -> Report {
    let (assembly, builtin) = (contended(&[], what), contended(&["-DBUILTIN"], what));
    for cpus in [1, 8, 80] {
        let off = 100.0 * (assembly.throughput(cpus) / builtin.throughput(cpus) - 1.0).abs();
        assert!(off <= percent, "{what} at {cpus} CPUs: {off:.1} % off");
    }
    assembly
}

#[test]
fn a_locked_add_costs_what_the_builtin_costs_and_is_named() {
    let report = same("counter", 6.0);
    let line =
        report.at(80).lines().find(|line| line.text("object").starts_with("counter (")).expect("the counter's line");
    let site = &line.sites()[0];
    assert_eq!(site["kind"], "atomic rmw");
    let source = include_str!("../programs/truths/assembly.c");
    let statement = source.lines().position(|line| line.contains("xaddq")).expect("the statement") as u64 + 1;
    let innermost = site["inlined"].get(0).unwrap_or(site);
    assert_eq!((innermost["function"].as_str(), innermost["line"].as_u64()), (Some("add"), Some(statement)));
}

#[test]
fn a_lock_of_exchanges_collapses_as_the_builtin_one_does() {
    let report = same("lock", 15.0);
    assert!(report.gain(8, 1) < 0.5 && report.gain(80, 1) < 0.1, "{} {}", report.gain(8, 1), report.gain(80, 1));
    let run = report.at(80);
    assert!(run.share("spin") + run.share("stall") > 0.9);
    assert!(run.lines().next().expect("a line").text("object").starts_with("held (assembly.c:"));
}

/// Nothing but the statement's own loop lets time pass.
#[test]
fn a_loop_within_a_statement_is_a_spin() {
    let report = contended(&[], "loop");
    assert!(report.gain(80, 1) < 0.3, "{}", report.gain(80, 1));
    let lock = &report.at(80).0["locks"][0];
    assert_eq!((lock["kind"].as_str(), lock["name"].as_str()), (Some("spun word"), Some("held")));
}

#[test]
fn what_is_not_seen_is_said_with_its_place() {
    let program = program_with("names/unseen.c", &["-Wl,--gc-sections", "names/unseen_file.S"]);
    let simulated = Simulation::of(&program).cpus("1,2").run();
    assert_eq!(simulated.said.code, Some(0), "{}", simulated.said.err);
    let report = simulated.report();
    let notes = report.at(2).0["notes"].as_array().expect("notes").clone();
    let unseen: Vec<&Value> =
        notes.iter().filter(|note| note["text"].as_str().expect("a text").contains("accesses memory unseen")).collect();
    let [note] = unseen[..] else { panic!("{notes:?}") };
    assert_eq!((note["at"]["function"].as_str(), note["count"].as_u64()), (Some("saved"), Some(3)));
    assert!(note["at"]["file"].as_str().unwrap().ends_with("unseen.c") && note["at"]["line"].as_u64() == Some(12));
    let files =
        notes.iter().filter(|note| note["text"].as_str().unwrap().contains("unseen_file.S holds assembly")).count();
    assert_eq!(files, 1, "{notes:?}");
    assert!(simulated.said.out.contains("COREFOLD_ACCESS_READ"), "{}", simulated.said.out);
}
