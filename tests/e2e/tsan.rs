// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that are built with `-fsanitize=thread` by the compiler alone, as they are.
use crate::harness::{Place, Program, Report, Simulation, native, native_with, program, said};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const ESTIMATED: &str = "compute time is estimated: ";

/// A program on TSan's shared runtime.
fn with_tsan(source: &str) -> Program {
    native_with(source, &["-fsanitize=thread", "-mcx16", "-Wno-tsan"])
}

fn notes(report: &Report, cpus: u64) -> Vec<String> {
    let notes = report.at(cpus).0["notes"].as_array().expect("notes");
    notes.iter().map(|note| note["text"].as_str().expect("a text").to_owned()).collect()
}

fn exports(library: &str) -> BTreeSet<String> {
    let listed = said(Command::new("nm").args(["-D", "--defined-only", library]));
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    listed.out.lines().filter_map(|line| line.split_whitespace().nth(2)).map(String::from).collect()
}

/// What TSan's runtime exports for programs and ours does not.
const NOT_EXPORTED: [(&str, &str); 4] = [
    ("__sanitizer_syscall_", "called by the macros of a header that gcc does not have"),
    ("__tsan_testonly_", "for the tests of TSan itself"),
    ("__sanitizer_internal_", "under other names in the programs of other sanitizers only"),
    ("__tsan_test_only_", "for the tests of TSan itself"),
];

#[test]
fn the_runtime_has_what_tsans_has() {
    let real = said(Command::new("gcc").arg("-print-file-name=libtsan.so")).out;
    let runtime = crate::harness::corefold().with_file_name("libcorefold_rt.so");
    let ours = exports(runtime.to_str().unwrap());
    let public =
        |name: &&String| ["__tsan_", "__sanitizer_", "Annotate", "WTFAnnotate"].iter().any(|p| name.starts_with(p));
    let exempt = |name: &&String| NOT_EXPORTED.iter().any(|(prefix, _)| name.starts_with(prefix));
    let wanted = exports(real.trim());
    assert!(wanted.contains("__tsan_read8") && wanted.len() > 1000, "{real}");
    let missing: Vec<&String> = wanted.iter().filter(public).filter(|n| !exempt(n) && !ours.contains(*n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// False sharing is named as it is for the same program built for simulation.
#[test]
fn the_culprit_is_the_same() {
    let source = format!("{ROOT}/demo/counters.c");
    let simulate = |program| Simulation::of(&program).cpus("1,80").args("{cpus} 500").report();
    let (own, tsans) = (simulate(program(&source)), simulate(with_tsan(&source)));
    let culprit = |report: &Report| {
        let line = report.at(80).lines().next().expect("a line").0.clone();
        let site = &line["sites"][0];
        [
            &line["object"],
            &line["sharing"],
            &site["file"],
            &site["line"],
            &site["function"],
            &report.0["finding"]["cause"],
        ]
        .map(Clone::clone)
    };
    assert_eq!(culprit(&tsans), culprit(&own));
    assert!(notes(&own, 80).iter().all(|note| !note.contains(ESTIMATED)));
    assert!(notes(&tsans, 80).contains(&format!("{ESTIMATED}the program has no basic-block hooks")));
}

/// Private work: nothing but estimated time.
#[test]
fn compute_time_is_close_to_that_of_a_full_build() {
    let run = |program| Simulation::of(&program).cpus("1,8").args("{cpus} 1000").report();
    let own = run(program("truths/private.c"));
    let tsans = run(with_tsan("truths/private.c"));
    for cpus in [1, 8] {
        let ratio = tsans.at(cpus).cycles() as f64 / own.at(cpus).cycles() as f64;
        assert!((0.6..1.4).contains(&ratio), "{ratio} at {cpus} CPUs");
    }
}

#[test]
fn results_are_those_of_the_plain_program() {
    for source in ["tsan/everything.cpp", "pthread/condvar.c", "pthread/once.cpp"] {
        let plain = said(&mut Place::new().command(native(source)));
        assert_eq!(plain.code, Some(0), "{source}: {}{}", plain.out, plain.err);
        let simulated = Simulation::of(&with_tsan(source)).cpus("8").run();
        assert_eq!(simulated.said.code, Some(0), "{source}: {}{}", simulated.said.err, simulated.said.out);
        assert_eq!(simulated.printed(), plain.out, "{source}");
    }
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let program = with_tsan("tsan/everything.cpp");
    for (way, what) in [("fiber", "switches stacks by itself"), ("java", "a Java virtual machine")] {
        let ended = Simulation::of(&program).cpus("2").args(way).run();
        assert_eq!(ended.said.code, Some(6), "{}{}", ended.said.out, ended.said.err);
        assert!(ended.said.out.contains(what), "{}", ended.said.out);
    }
    let traced = Simulation::of(&program).cpus("2").args("trace").run();
    assert!(
        traced.printed().contains("    #0 0x") && traced.printed().contains("everything.cpp"),
        "{}",
        traced.printed()
    );
}

#[test]
fn recordings_are_the_same_each_time() {
    let program = with_tsan(&format!("{ROOT}/demo/counters.c"));
    let record = || {
        let simulated = Simulation::of(&program).cpus("3,8").args("{cpus} 100").run();
        assert_eq!(simulated.said.code, Some(0), "{}", simulated.said.err);
        std::fs::read(simulated.recording()).unwrap()
    };
    assert!(record() == record());
}

/// The hooks at accesses are where a computing thread takes them.
#[test]
fn signals_and_cancellation_come_while_it_computes() {
    let program = with_tsan("tsan/interrupted.c");
    for cpus in ["1", "8"] {
        let simulated = Simulation::of(&program).cpus(cpus).timeout(Duration::from_secs(60)).run();
        assert_eq!(simulated.said.code, Some(0), "{cpus}: {}{}", simulated.said.out, simulated.said.err);
        assert_eq!(simulated.printed(), "ok, cleaned 1\n", "at {cpus} CPUs");
    }
}

/// Nothing can take it out of a loop that has no hook; that is said, and what to do.
#[test]
fn a_loop_without_accesses_is_reported() {
    let program = with_tsan("tsan/interrupted.c");
    let said = Simulation::of(&program).cpus("1").args("registers").timeout(Duration::from_secs(3)).run().said;
    assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
    let told = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "computes at count_in_registers (interrupted.c:",
        "without a memory access since",
        "rebuild with `corefold cc`",
        "thread 0 waits for its wake-up time in sleep, at main (interrupted.c:",
    ] {
        assert!(told.contains(words), "{words:?} is not in:\n{}", said.out);
    }
}

const LIBRARY: &str = "
static _Alignas(64) struct { long mine, yours; } shared;
void count(int which, int rounds) {
	for (int i = 0; i < rounds; i++)
		__atomic_fetch_add(which ? &shared.mine : &shared.yours, 1, __ATOMIC_RELAXED);
}
long counted(void) { return shared.mine + shared.yours; }
";

const PROGRAM: &str = "
#include <dlfcn.h>
#include <pthread.h>
void (*count)(int which, int rounds);
static void *work(void *which) { count(which != 0, 5000); return 0; }
int main(int argc, char **argv) {
	void *once = dlopen(argv[argc - 1], RTLD_NOW), *library;
	pthread_t thread;
	if (!once || dlclose(once))
		return 3;
	library = dlopen(argv[argc - 1], RTLD_NOW);
	count = (void (*)(int, int))dlsym(library, \"count\");
	pthread_create(&thread, 0, work, (void *)1);
	work(0);
	pthread_join(thread, 0);
	return ((long (*)(void))dlsym(library, \"counted\"))() != 10000;
}
";

/// A program for simulation and a library that its own build made with TSan, and the reverse.
#[test]
fn programs_and_libraries_of_both_kinds_go_together() {
    let place = Place::new();
    place.file("count.c", LIBRARY);
    place.file("main.c", PROGRAM);
    let (tsan, own) = ("gcc -fsanitize=thread", "$corefold cc");
    for (program, library, estimated) in [(own, tsan, "libcount.so"), (tsan, own, "the program")] {
        let built = place.sh(&format!(
            "{library} -O2 -g -fPIC -shared -o libcount.so count.c; {program} -O2 -g -pthread -o main main.c
             $corefold run --cpus 2 --json report.json -- ./main $PWD/libcount.so"
        ));
        assert_eq!(built.code, Some(0), "{}{}", built.out, built.err);
        let report = Report::read(&place.path("report.json"));
        let told: Vec<String> = notes(&report, 2).into_iter().filter(|note| note.contains(ESTIMATED)).collect();
        assert_eq!(told, [format!("{ESTIMATED}{estimated} has no basic-block hooks")]);
        let line = report.at(2).lines().next().expect("a line").0.clone();
        assert_eq!(line["fields"], serde_json::json!(["shared.mine", "shared.yours"]), "{line}");
    }
}

/// With TSan's runtime linked in, in every form that is told.
#[test]
fn a_static_tsan_is_refused_with_the_remedy() {
    let place = Place::new();
    place.file("a.c", "int x; int main(void) { return x; }");
    for options in ["", "-no-pie", "-s", "-no-pie -s"] {
        let built = place.sh(&format!("gcc -fsanitize=thread -static-libtsan {options} -o a a.c"));
        assert_eq!(built.code, Some(0), "{}", built.err);
        let refused = place.corefold("run -- ./a");
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{options}: {}", refused.err);
        assert!(refused.err.contains("gcc without -static-libtsan"), "{options}: {}", refused.err);
    }
}
