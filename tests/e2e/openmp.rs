// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenMP: libgomp is as the distribution has it, without hooks, and waits by system calls of its own.
use crate::harness::{
    Compiler, Place, Simulated, Simulation, native_with, printed_natively, program_with, said, skipped,
};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
const OPENMP: &[&str] = &["-fopenmp"];

fn team(cpus: u32, policy: &str) -> Simulated {
    let team = program_with("openmp/team.c", OPENMP);
    let with_policy = |command: &mut Command| _ = command.env("OMP_WAIT_POLICY", policy);
    Simulation::of(&team).cpus(&cpus.to_string()).with(with_policy).timeout(LIMIT).run()
}

/// As natively, with a thread for each simulated CPU, however the program would like to wait.
#[test]
fn teams_of_threads_do_what_they_do_natively() {
    let natively = printed_natively(&native_with("openmp/team.c", OPENMP), "");
    let results = natively.lines().next().unwrap();
    for (cpus, policy) in [(1, "passive"), (8, "active"), (80, "passive")] {
        let ended = team(cpus, policy);
        assert_eq!(ended.said.code, Some(0), "{}{}", ended.said.out, ended.said.err);
        assert_eq!(ended.printed(), format!("{results}\n{cpus} CPUs, {cpus} threads\n"));
    }
}

#[test]
fn clangs_teams_do_the_same() {
    if !Path::new("/usr/lib/llvm-14/lib/libomp.so").exists() {
        return skipped("libomp-14-dev is not installed (scripts/setup.sh test installs it)");
    }
    let team = Compiler::Clang("14").program("openmp/sum.c", OPENMP);
    for cpus in ["1", "8", "80"] {
        let ended = Simulation::of(&team).cpus(cpus).timeout(LIMIT).run();
        assert_eq!(ended.said.code, Some(0), "{}{}", ended.said.out, ended.said.err);
        assert_eq!(ended.printed(), format!("49995000, {cpus} CPUs, {cpus} threads\n"));
    }
}

#[test]
fn a_teams_recording_is_always_the_same() {
    let record = || std::fs::read(team(8, "active").recording()).unwrap();
    assert!(record() == record(), "two recordings differ");
}

/// The last to arrive has 7 times the work of the second; the others wait for it, at the barrier's line.
#[test]
fn waits_at_a_barrier_are_named() {
    let report = Simulation::of(&program_with("openmp/team.c", OPENMP)).cpus("8").timeout(LIMIT).report();
    let run = report.at(8);
    let locks = run.0["locks"].as_array().unwrap().clone();
    let waits = |lock: &serde_json::Value| lock["waited_at"]["function"].as_str().unwrap_or("").contains("barriers");
    assert!(locks.iter().any(waits), "{locks:#?}");
}

/// libgomp, which has no hooks, makes them; the hooks that it reaches next are those of the allocations for each thread.
#[test]
fn making_a_teams_threads_is_the_librarys() {
    let report = Simulation::of(&program_with("openmp/sum.c", OPENMP)).cpus("80").timeout(LIMIT).report();
    let functions = report.at(80).0["functions"].as_array().unwrap().clone();
    let share = |begin: &str| -> f64 {
        let named = functions.iter().filter(|function| function["name"].as_str().unwrap().starts_with(begin));
        named.map(|function| function["self_percent"].as_f64().unwrap()).sum()
    };
    assert!(share("libgomp.so") > 20.0 && share("allocate_dtv") < 5.0, "{functions:#?}");
}

#[test]
fn a_team_that_is_stuck_is_a_deadlock() {
    let ended = Simulation::of(&program_with("openmp/stuck.c", OPENMP)).cpus("2").timeout(LIMIT).run();
    assert_eq!(ended.said.code, Some(4), "{}{}", ended.said.out, ended.said.err);
    assert!(ended.said.out.contains("main._omp_fn.0 (stuck.c:12)"), "{}", ended.said.out);
}

/// Of the program's own, and of a library that has no hooks and is loaded late.
#[test]
fn waits_by_instructions_are_simulated() {
    let place = Place::new();
    let library = place.path("libraw.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/openmp/raw.c");
    let built = said(Command::new("gcc").args(["-O2", "-DLIBRARY", "-shared", "-fPIC", source, "-o"]).arg(&library));
    assert_eq!(built.code, Some(0), "{}", built.err);
    let waits = program_with("openmp/raw.c", &["-ldl"]);
    for args in ["own", library.to_str().unwrap()] {
        for cpus in ["1", "2"] {
            let ended = Simulation::of(&waits).cpus(cpus).args(args).timeout(LIMIT).run();
            assert_eq!(ended.said.code, Some(0), "{args}: {}{}", ended.said.out, ended.said.err);
            assert_eq!(ended.printed(), "400 turns\n", "{args}");
            assert!(!ended.said.out.contains("makes a system call"), "{args}: {}", ended.said.out);
        }
    }
}
