// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores become visible in the order of the program, whatever mixture of plain, volatile, atomic and assembly accesses
//! makes them: what a run shows is what x86-TSO allows.
use crate::harness::{Compiler, Place, Program, Simulation, printed_natively, program, program_with, said, stress};
use std::process::Command;

#[track_caller]
fn passes(source: &str, options: &[&str], cpus: &str, args: &str, expected: &str) {
    prints(&program_with(source, options), cpus, args, expected);
}

#[track_caller]
fn prints(program: &Program, cpus: &str, args: &str, expected: &str) {
    for extra in [None, Some(("--slack", "0")), Some(("--seed", "2"))] {
        let simulation = Simulation::of(program).cpus(cpus).args(args).without_json();
        let run = match extra {
            None => simulation.run(),
            Some((name, value)) => simulation.option(name, value).run(),
        };
        let printed = (run.said.code, run.printed());
        assert_eq!(printed, (Some(0), expected), "{}, {extra:?}: {}", program.display(), run.said.err);
    }
}

#[test]
fn litmus_tests_stay_within_x86_tso() {
    passes("litmus/tso.c", &[], "4", "", "within x86-TSO\n");
}

#[test]
fn litmus_tests_stay_within_x86_tso_in_many_schedules() {
    let seeds = if stress() { "1-500" } else { "1-6" };
    let program = program("litmus/tso.c");
    let said = Place::new().corefold(&format!("explore --seeds {seeds} --cpus 4 -- {} 60 some", program.display()));
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

#[test]
#[ignore = "takes long: make stress runs it"]
fn litmus_tests_of_all_compilers_stay_within_x86_tso() {
    for compiler in Compiler::installed() {
        for optimization in ["-O0", "-O2"] {
            prints(&compiler.program("litmus/tso.c", &[optimization]), "4", "600", "within x86-TSO\n");
        }
    }
}

/// A queue lock of assembly alone, as Concurrency Kit's are, with its nodes on stacks and on the heap.
#[test]
fn a_queue_lock_of_assembly_excludes() {
    for options in [&["-O0"][..], &["-O2"], &["-O2", "-DHEAP"], &["-O2", "-DBUILTIN_UNLOCK"]] {
        for cpus in ["2", "8"] {
            passes("litmus/queue_lock.c", options, cpus, cpus, "passed\n");
        }
    }
}

/// Compilers have no hooks for what intrinsics become (fences, halves of vectors, masked stores) and for assembly.
#[test]
fn what_no_hook_of_the_compilers_tells_of_keeps_its_order() {
    for how in ["fence", "halves", "masked", "bytes"] {
        passes("litmus/intrinsics.c", &["-O2"], "2", how, "kept\n");
    }
}

/// Where it succeeds, the expected value may be another thread's by then.
#[test]
fn a_compare_and_swap_that_succeeds_writes_no_expected_value() {
    for options in [&["-O0", "-mcx16"][..], &["-O2", "-mcx16"]] {
        assert_eq!(printed_natively(&program_with("litmus/expected.c", options), ""), "kept\n", "not simulated");
        passes("litmus/expected.c", options, "2", "", "kept\n");
    }
}

/// A library without hooks passes a turn on, which is in memory at once: so is what the program has stored before.
#[test]
fn what_is_stored_before_code_without_hooks_runs_is_seen() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/litmus/unhooked.c");
    let library = place.path("libturn.so");
    let built = said(Command::new("gcc").args(["-O2", "-DLIBRARY", "-shared", "-fPIC", source, "-o"]).arg(&library));
    assert_eq!(built.code, Some(0), "{}", built.err);
    let folder = place.directory().display().to_string();
    let (at, run_at) = (format!("-L{folder}"), format!("-Wl,-rpath,{folder}"));
    for define in ["-DATOMIC", "-DPLAIN"] {
        let options = [define, "-Wl,--no-as-needed", &at, &run_at, "-lturn"];
        for way in ["call", "pointer", "later", "by-a-pointer", "return", "twice", "more"] {
            passes("litmus/unhooked.c", &options, "2", way, "0 stale\n");
        }
    }
}

/// A load is a load: those who wait with volatile, plain or assembly loads get the lock no sooner than with atomic ones.
/// Not with two or three threads, where cycles decide whether one of them takes several turns in a row.
#[test]
#[ignore = "takes long: make stress runs it"]
fn a_hand_over_costs_the_same_by_any_kind_of_load() {
    for threads in ["4", "8", "40"] {
        let cost = |define: &str| -> f64 {
            let run = Simulation::of(&program_with("litmus/handover.c", &[define])).cpus("80").args(threads).run();
            assert_eq!(run.said.code, Some(0), "{}", run.said.err);
            run.printed().trim().parse().expect("nanoseconds")
        };
        let atomic = cost("-DATOMIC");
        for define in ["-DVOLATILE", "-DPLAIN", "-DASSEMBLY", "-DCALLS", "-DPOINTERS"] {
            let ratio = cost(define) / atomic;
            assert!((0.9..1.1).contains(&ratio), "{define}, {threads} threads: {ratio:.2}");
        }
    }
}
