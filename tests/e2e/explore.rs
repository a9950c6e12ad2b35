// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many schedules of one program: those that show a bug are found and can be replayed, and a program
//! without one is never blamed.
use crate::harness::{Place, Program, Said, Simulation, program, program_with, stress};
use serde_json::Value;

/// No bug here is so rare that more seeds are needed; a tenth is usual for the rarest.
const SEEDS: &str = "1-10000";

fn source(name: &str) -> String {
    format!("explore/{name}.c")
}

fn explore(program: &Program, options: &str) -> (Place, Said) {
    let place = Place::new();
    let said = place.corefold(&format!("explore {options} --json found.json -- {}", program.display()));
    (place, said)
}

fn found(place: &Place) -> Value {
    serde_json::from_str(&std::fs::read_to_string(place.path("found.json")).unwrap()).unwrap()
}

/// A schedule that fails is found, with `words` about how; the plain one does not show it; and the same
/// seed fails in the same way again, to the byte. Returns how, in short and in full.
#[track_caller]
fn finds(program: &Program, words: &[&str]) -> (String, String) {
    let plain = Simulation::of(program).cpus("4").run();
    assert_eq!(plain.said.code, Some(0), "the plain schedule: {}{}", plain.said.out, plain.said.err);
    let (place, said) = explore(program, &format!("--seeds {SEEDS}"));
    assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
    for word in words {
        assert!(said.out.contains(word), "{word:?} is not in:\n{}", said.out);
    }
    let found = found(&place);
    let failure = &found["failures"][0];
    let command = failure["replay"].as_str().unwrap();
    assert!(said.out.contains(&format!("replay: {command}\n")), "{}", said.out);
    let replays: Vec<Vec<u8>> = (0..2).map(|_| replay(command, failure)).collect();
    assert!(replays[0] == replays[1], "the replays of {command} differ");
    (failure["ending"]["summary"].as_str().unwrap().to_owned(), said.out)
}

/// What `corefold run` exits with.
fn code_of(summary: &str) -> i32 {
    let codes = [("exited", 1), ("crashed", 3), ("use after free", 3), ("deadlock", 4), ("livelock", 9)];
    codes.iter().find(|(word, _)| summary.starts_with(word)).map_or(-1, |(_, code)| *code)
}

/// The recording of a replay.
#[track_caller]
fn replay(command: &str, failure: &Value) -> Vec<u8> {
    let place = Place::new();
    let arguments = command.strip_prefix("corefold run ").expect("a command that replays");
    let said = place.corefold(&format!("run --json again.json {arguments}"));
    let summary = failure["ending"]["summary"].as_str().unwrap();
    assert_eq!(said.code, Some(code_of(summary)), "{command}: {}{}", said.out, said.err);
    let again: Value = serde_json::from_str(&std::fs::read_to_string(place.path("again.json")).unwrap()).unwrap();
    assert_eq!(again["runs"][0]["ending"], failure["ending"], "{command}");
    let printed = failure["printed"].as_str().unwrap();
    assert!(said.err.contains(printed), "{command}: {}", said.err);
    std::fs::read(place.path("corefold.rec")).unwrap()
}

/// No schedule of a program that is right fails.
#[track_caller]
fn spares(program: &Program) {
    let seeds = if stress() { "1-2000" } else { "1-100" };
    let (_, said) = explore(program, &format!("--seeds {seeds} --timeout 30"));
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(said.out.starts_with("no failing schedule among "), "{}", said.out);
}

#[track_caller]
fn check(name: &str, words: &[&str]) {
    finds(&program(&source(name)), words);
    spares(&program_with(&source(name), &["-DFIXED"]));
}

#[test]
fn a_lost_update() {
    check("lost_update", &["exited with code 1", "wrong: updates were lost"]);
    finds(&program_with(&source("lost_update"), &["-DPLAIN"]), &["wrong: updates were lost"]);
}

#[test]
#[ignore = "takes long: make stress runs it"]
fn an_aba_in_a_lock_free_stack() {
    check("aba", &["exited with code 1", "wrong: a slot has two owners"]);
}

#[test]
fn a_deadlock_of_three_locks() {
    check("three_locks", &["deadlock", "waits for mutex `locks[", "circular wait", "three_locks.c"]);
}

#[test]
fn a_missed_wake_up() {
    check("missed_wakeup", &["deadlock", "waits for condition variable `changed`"]);
}

/// Which of its two ends it comes to depends on whether the memory is used again before it is read.
#[test]
#[ignore = "takes long: make stress runs it"]
fn a_use_after_free_under_a_wrong_grace_period() {
    let (summary, out) = finds(&program(&source("rcu_uaf")), &[]);
    if summary.starts_with("use after free: `config.") {
        for words in ["had freed it, at update (rcu_uaf.c", "it was allocated, at new_config (rcu_uaf.c"] {
            assert!(out.contains(words), "{words:?} is not in:\n{out}");
        }
    } else {
        assert!(out.contains("wrong: a configuration is torn"), "{out}");
    }
    spares(&program_with(&source("rcu_uaf"), &["-DFIXED"]));
}

#[test]
fn a_livelock() {
    check("missed_pulse", &["livelock", "thread 1 spins at take_part (missed_pulse.c"]);
}

/// Without a fence both loads can come before both stores, even in the plain schedule; with one never.
#[test]
fn the_store_buffer() {
    let (_, said) = explore(&program(&source("store_buffer")), "--seeds 1-200");
    assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
    assert!(said.out.contains("neither saw the other's flag"), "{}", said.out);
    spares(&program_with(&source("store_buffer"), &["-DFIXED"]));
}

/// Those who were woken from a condition variable are still on their way out when the next one waits.
#[test]
fn a_gate_and_a_finish_line() {
    spares(&program(&source("gate")));
}

#[test]
fn readers_and_writers_take_turns() {
    spares(&program(&source("phases")));
    spares(&program_with(&source("phases"), &["-DPREFER_WRITERS"]));
}

/// A round's number changes once, however many come for the next.
#[test]
fn a_barrier_that_more_threads_use_than_a_round_has() {
    spares(&program(&source("pairs")));
}

/// What only tries to lock a stream never waits for who has it.
#[test]
fn a_stream_that_is_tried() {
    spares(&program(&source("try_stream")));
}

#[test]
fn every_signal_wakes_one() {
    spares(&program(&source("tokens")));
}

/// A store that is held back is held back from others only, and those before it do not come later than it.
#[test]
fn own_stores_are_seen_at_once() {
    spares(&program(&source("own_stores")));
}

/// Freed memory is told whatever the schedule, as long as it is drawn from a seed.
#[test]
fn use_of_freed_memory_is_reported() {
    let program = program(&source("freed"));
    for (how, words) in [
        ("read", ["reads byte 4 of 24", "had freed it, at release (freed.c", "it was allocated, at main (freed.c"]),
        ("write", ["writes byte 4 of 24", "had freed it, at release (freed.c", "it was allocated, at main (freed.c"]),
        ("copy", ["reads byte 0 of 24", "had freed it, at release (freed.c", "it was allocated, at main (freed.c"]),
        (
            "twice",
            ["frees again byte 0 of 24", "had freed it, at release (freed.c", "it was allocated, at main (freed.c"],
        ),
    ] {
        let said = Simulation::of(&program).cpus("1").option("--seed", "3").args(how).run().said;
        assert_eq!(said.code, Some(3), "{how}: {}{}", said.out, said.err);
        for word in words.iter().chain(&["use after free: "]) {
            assert!(said.out.contains(word), "{how}: {word:?} is not in:\n{}", said.out);
        }
    }
    let fine = Simulation::of(&program).cpus("1").option("--seed", "3").args("none").run().said;
    assert_eq!(fine.code, Some(0), "{}{}", fine.out, fine.err);
}

/// What is found does not depend on how many runs are under way.
#[test]
fn failures_come_in_the_order_of_the_list() {
    let program = program(&source("lost_update"));
    let seeds = |jobs: &str| -> Vec<u64> {
        let (place, said) = explore(&program, &format!("--seeds 60-1,1-60 --stop-after 5 --jobs {jobs}"));
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains("the range 60-1 ends before it begins: write 1-60"), "{}", said.err);
        drop(place);
        let (place, said) = explore(&program, &format!("--seeds 31-60,1-30 --stop-after 5 --jobs {jobs}"));
        assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
        let found = found(&place);
        let of = |failure: &Value| failure["seed"].as_u64().unwrap();
        found["failures"].as_array().unwrap().iter().map(of).chain([found["tried"].as_u64().unwrap()]).collect()
    };
    let one = seeds("1");
    assert_eq!(one.len(), 6, "{one:?}");
    assert_eq!(one, seeds("4"));
}

/// A host that is too slow is no finding: a schedule that gets on is told apart from those that fail.
#[test]
fn schedules_that_do_not_finish_in_time_are_not_failures() {
    let (place, said) = explore(&program(&source("sometimes_long")), "--seeds 1-2 --timeout 3 --longest 1000000");
    assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
    assert!(said.out.contains(" did not finish within --timeout and "), "{}", said.out);
    assert!(said.out.contains("no failing schedule among 2 on "), "{}", said.out);
    let found = found(&place);
    assert_eq!(found["failures"], serde_json::json!([]));
    assert!(found["unfinished"].as_array().unwrap().contains(&1.into()), "{}", found["unfinished"]);
}

/// The holder of a spin lock may lose its CPU, and the others then spin for whole time slices. That ends, only later.
#[test]
fn a_schedule_that_takes_long_is_no_failure_unless_its_time_was_given() {
    let program = program("pthread/spinlock.c");
    let (place, said) = explore(&program, "--cpus 2 --seeds 1-3");
    assert_eq!(said.code, Some(5), "{}{}", said.out, said.err);
    assert!(said.out.contains(" of virtual time and "), "{}", said.out);
    assert!(said.out.contains(" not counted as failing; --longest gives more: seed 1"), "{}", said.out);
    assert!(found(&place)["unfinished"].as_array().unwrap().contains(&1.into()), "{}", said.out);
    let (_, said) = explore(&program, "--cpus 2 --seeds 1 --longest 0.05");
    assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
    assert!(said.out.starts_with("seed 1: did not end within the limit of virtual time"), "{}", said.out);
    let (_, said) = explore(&program, "--cpus 2 --seeds 1 --longest 10");
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

/// The time that a schedule takes grows with the number of stores, and no faster.
#[test]
fn stores_without_a_fence_do_not_pile_up() {
    let (_, said) = explore(&program(&source("long_stretch")), "--seeds 4-6 --timeout 8");
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
}

#[test]
fn a_program_that_cannot_be_simulated_is_not_explored() {
    let place = Place::new();
    place.file("a.c", "#include <unistd.h>\nint main(void) { return fork() == 0; }\n");
    let said = place.sh("$corefold cc -g a.c -o a; $corefold explore --seeds 1-5 -- ./a");
    assert_eq!(said.code, Some(6), "{}{}", said.out, said.err);
    assert_eq!((said.out + &said.err).matches("fork() cannot be simulated").count(), 1);
}

/// A failure says what the seed did to the threads that made it.
#[test]
fn hold_ups_are_reported() {
    let (place, said) = explore(&program(&source("lost_update")), "--seeds 1-100");
    assert!(said.out.contains("  what the seed's schedule did last:\n    at "), "{}", said.out);
    assert!(said.out.contains(" before the access at add (lost_update.c:"), "{}", said.out);
    let held_up = found(&place)["failures"][0]["ending"]["held_up"].clone();
    let is_whole = |held: &Value| held["thread"].is_u64() && held["ns"].is_number() && held["at_ns"].is_number();
    assert!(held_up.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_whole)), "{held_up}");
    assert!(held_up.to_string().contains(r#""function":"add""#), "{held_up}");
}

/// As `perf record` has it.
#[test]
fn a_replay_keeps_the_recording_that_was_there() {
    let (place, program) = (Place::new(), program(&source("lost_update")));
    let run = |seed: &str| {
        let said = place.corefold(&format!("run --cpus 4 --seed {seed} -- {}", program.display()));
        assert!(matches!(said.code, Some(0 | 1)), "{}", said.err);
        std::fs::read(place.path("corefold.rec")).unwrap()
    };
    let first = run("0");
    assert!(run("1") != first);
    assert!(std::fs::read(place.path("corefold.rec.old")).unwrap() == first);
}

/// Where all threads wait, and one of them by looking at a word that nobody sets, no schedule goes on: that is said at
/// once, by a plain run as well.
#[test]
fn a_wait_for_a_word_that_nobody_sets_is_a_livelock() {
    let program = program(&source("nobody_sets"));
    for way in ["look", "plain", "apart", "own", "spin", "yield", "assembly", "within"] {
        let run = Simulation::of(&program).cpus("4").args(way).run();
        assert_eq!(run.said.code, Some(9), "{way}: {}{}", run.said.out, run.said.err);
        assert!(run.said.out.contains("thread 0 waits for the end of thread 1 in pthread_join"), "{}", run.said.out);
        let late = Simulation::of(&program).cpus("4").args(way).args("late").run();
        assert_eq!(late.said.code, Some(0), "{way} late: {}{}", late.said.out, late.said.err);
        let place = Place::new();
        let said = place.corefold(&format!("explore --seeds 1-10 -- {} {way}", program.display()));
        assert_eq!(said.code, Some(10), "{way}: {}{}", said.out, said.err);
        assert!(said.out.starts_with("seed 0: livelock: threads poll memory"), "{}", said.out);
    }
    // Of two threads one is between two turns of its CPU: behind a call of a hook, or behind an inline one.
    for (way, at) in [("look", "look"), ("plain", "look_plainly")] {
        let run = Simulation::of(&program).cpus("2").args(way).args("twice").run();
        let said = format!("spins at {at} (nobody_sets.c:");
        assert_eq!(run.said.out.matches(&said).count(), 2, "{}", run.said.out);
    }
}

/// A thread that gives up at a known time, or after so many looks, is no livelock to a plain run, wherever it counts them.
#[test]
fn a_long_wait_that_ends_by_itself_is_no_livelock() {
    let program = program(&source("nobody_sets"));
    for way in ["count", "draw", "below", "counts_within", "vector"] {
        let run = Simulation::of(&program).cpus("4").args(way).run();
        assert_eq!(run.said.code, Some(0), "{way}: {}{}", run.said.out, run.said.err);
    }
}

/// What a schedule depends on is in the line that replays it, or another schedule would be run.
#[test]
fn a_replay_has_the_options_that_were_given() {
    let options =
        "--without store-buffer,smt --slack 100 --machine xeon-4s-80 --memory 512M --longest 0.5 --timeout 50";
    let (place, said) = explore(&program(&source("lost_update")), &format!("--seeds 1-500 --cpus 8 {options}"));
    assert_eq!(said.code, Some(10), "{}{}", said.out, said.err);
    let failure = &found(&place)["failures"][0];
    replay(failure["replay"].as_str().unwrap(), failure);
}
