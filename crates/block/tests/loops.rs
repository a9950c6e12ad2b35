// SPDX-License-Identifier: MIT OR Apache-2.0
//! An instrumented loop costs what the plain build of it does.
#[path = "../../../tests/skipped.rs"]
mod skipped;
mod support;

use corefold_block::{Cost, Place, cost_at, trace};
use skipped::skipped;
use std::collections::HashMap;
use support::Compiler::{self, Clang, Gcc, Rustc};
use support::{CORE, Form, Program, Recorded};

const ROUNDS: f64 = 800.0;

/// Printed but not held to the tolerance, and why.
const LIMITS: [(&str, &str); 8] = [
    ("matrix", "clang unrolls the inner loop of a plain build only: fewer instructions, and more of them in sight"),
    (
        "switches",
        "gcc steps a pointer and computes the index from it in one arm; the default arm leaves mid-block; \
         clang makes of some arms what it makes of none of them in a plain build",
    ),
    // Of rustc.
    ("atomic_peak", "that a load is of the word of the locked operation before is not recognised across the hook"),
    ("bisect", "steps of a binary search without branches: hooks end the chain of conditional moves"),
    ("characters", "a plain build loads two constants again in each round, as it has fewer registers left"),
    ("checked", "the test for the end of a slice is a compare of two registers in a plain build only"),
    ("odd", "sums of vectors are kept in memory across hooks, and a loaded vector is moved once more"),
    ("queue", "positions of a ring buffer wrap by a conditional move in a plain build, by a branch with hooks"),
];

#[derive(Clone, Copy)]
struct Figures {
    cycles: f64,
    instructions: f64,
}

fn plain_figures(program: &Program, recorded: &Recorded) -> Figures {
    let all = trace(&program.image, &recorded.addresses, &CORE);
    Figures { cycles: all.cycles() / ROUNDS, instructions: f64::from(all.instructions) / ROUNDS }
}

/// How often the block ran each time that it was come to from another, in the mean.
fn rounds(addresses: &[u64], head: u64) -> u32 {
    let runs = addresses.chunk_by(|a, b| a == b).filter(|run| run[0] == head);
    let (visits, entries) = runs.fold((0, 0), |(visits, entries), run| (visits + run.len(), entries + 1));
    (visits / entries.max(1)) as u32
}

/// Adds what the engine adds to the blocks: the latency of atomic operations.
fn instrumented_figures(program: &Program, recorded: &Recorded) -> Figures {
    let mut costs: HashMap<u64, Cost> = HashMap::new();
    let cost = |head| {
        let place = Place { head, returns_to: None, trip_count: Some(rounds(&recorded.addresses, head)) };
        cost_at(&program.image, place, &CORE).cost
    };
    let blocks = recorded.addresses.iter().map(|&ra| *costs.entry(ra).or_insert_with(|| cost(ra)));
    let (cycles, instructions) = blocks.fold((0.0, 0), |(c, i), cost| (c + cost.cycles(), i + cost.instructions));
    let atomics = f64::from(recorded.atomics * CORE.rmw);
    Figures { cycles: (cycles + atomics) / ROUNDS, instructions: f64::from(instructions) / ROUNDS }
}

/// Prints the table of all loops and returns the names of those over the tolerance.
fn compare(compiler: Compiler, form: Form, flags: &[&str]) -> Vec<String> {
    let (plain, instrumented) = (support::plain(compiler, flags), support::instrumented(compiler, form, flags));
    println!(
        "{compiler:?} {form:?} {flags:?}\n{:16} {:>8} {:>8} {:>7}   {:>6} {:>6}",
        "loop", "plain", "hooked", "error", "insns", "hooked"
    );
    let mut missed = Vec::new();
    for (name, recorded) in &plain.loops {
        let base = plain_figures(plain, recorded);
        let hooked = instrumented_figures(&instrumented, &instrumented.loops[name]);
        let error = hooked.cycles / base.cycles * 100.0 - 100.0;
        println!(
            "{name:16} {:8.2} {:8.2} {error:6.1}%   {:6.2} {:6.2}",
            base.cycles, hooked.cycles, base.instructions, hooked.instructions
        );
        if let Some((_, reason)) = LIMITS.iter().find(|(limit, _)| limit == name) {
            println!("{:16} not asserted: {reason}", "");
        } else if error.abs() > 10.0 {
            missed.push(format!("{name}: {error:.1} %"));
        }
    }
    missed
}

/// What the simulation itself says of well-known loops; the figures are those of the core's manuals.
#[test]
fn loops_take_the_latency_of_their_chain() {
    let plain = support::plain(Gcc, &["-O2"]);
    let expected = [("increment", 5.0, 6.1), ("sum", 1.0, 1.3), ("polynomial", 7.9, 8.1), ("walk", 4.9, 5.1)];
    for (name, least, most) in expected {
        let cycles = plain_figures(plain, &plain.loops[name]).cycles;
        assert!((least..=most).contains(&cycles), "{name}: {cycles}");
    }
}

#[test]
#[ignore = "other optimisation levels: a table to look at"]
fn other_levels() {
    for level in ["-O1", "-O3", "-Os", "-O0"] {
        for compiler in [Gcc, Clang("clang-14"), Clang("clang-19")] {
            println!("{:?}", compare(compiler, Form::Inline, &[level]));
        }
    }
}

#[test]
fn hooks_through_the_linkage_table() {
    assert_eq!(compare(Gcc, Form::Called, &["-O2"]), [""; 0]);
}

#[test]
fn hooks_through_the_offset_table() {
    assert_eq!(compare(Gcc, Form::Called, &["-O2", "-fno-plt"]), [""; 0]);
}

#[test]
fn hooks_in_the_code_itself() {
    assert_eq!(compare(Gcc, Form::Inline, &["-O2"]), [""; 0]);
}

#[test]
fn hooks_in_the_code_itself_and_in_the_offset_table() {
    assert_eq!(compare(Gcc, Form::Inline, &["-O2", "-fno-plt"]), [""; 0]);
}

/// clang has other shapes for the same loops. Without it nothing is compared: the test is skipped.
fn clang(name: &'static str, form: Form) -> Vec<String> {
    if !Clang(name).is_installed() {
        skipped(&format!("{name} is not installed (scripts/setup.sh test installs it)"));
        return Vec::new();
    }
    compare(Clang(name), form, &["-O2"])
}

#[test]
fn loops_of_clang_14() {
    assert_eq!(clang("clang-14", Form::Called), [""; 0]);
    assert_eq!(clang("clang-14", Form::Inline), [""; 0]);
}

#[test]
fn loops_of_clang_19() {
    assert_eq!(clang("clang-19", Form::Called), [""; 0]);
    assert_eq!(clang("clang-19", Form::Inline), [""; 0]);
}

/// Its loops in loops.rs.
#[test]
fn loops_of_rustc() {
    assert_eq!(compare(Rustc, Form::Called, &["-C", "opt-level=3"]), [""; 0]);
}
