// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks that the C library takes in its own calls: calls of many threads at once take turns, and the report says at
//! which lock.
use crate::harness::{Report, Simulation, program};

const PROGRAM: &str = "truths/library_locks.c";

fn of(call: &str) -> Report {
    calls(PROGRAM, &format!("{call} {{cpus}}"))
}

fn calls(source: &str, arguments: &str) -> Report {
    let simulation = Simulation::of(&program(source)).cpus("1,8").option("--work", "per-cpu");
    simulation.args(arguments).report()
}

/// How many times as long the calls take at 8 CPUs as at one.
fn longer(report: &Report) -> f64 {
    report.at(8).cycles() as f64 / report.at(1).cycles() as f64
}

/// Each CPU makes the same calls; where they take turns, more of them take as much longer.
fn takes_turns(call: &str, name: &str) {
    let report = of(call);
    let longer = longer(&report);
    assert!(longer > 8.0 / 1.5, "{call}: {longer}");
    let lock = &report.at(8).0["locks"][0];
    assert_eq!((&lock["name"], &lock["kind"]), (&name.into(), &"lock".into()), "{call}: {lock}");
    assert!(lock["wait_cycles"].as_u64() > lock["hold_cycles"].as_u64(), "{call}: {lock}");
}

#[test]
fn calls_of_one_stream_take_turns() {
    for call in ["fprintf", "vfprintf", "fwrite", "fputs", "putc"] {
        takes_turns(call, "lock of stream `/dev/null`");
    }
    for call in ["fgetc", "fgets", "fscanf"] {
        takes_turns(call, "lock of stream `/dev/zero`");
    }
    takes_turns("open_memstream", "lock of stream `open_memstream`");
}

/// Nobody can pad what the C library lays out.
#[test]
fn a_stream_is_called_one_and_is_not_to_be_padded() {
    let report = of("putc");
    let run = report.at(8);
    let stream = run.lines().find(|line| line.text("object").starts_with("stream (FILE) opened at library_locks.c:"));
    let verdict = stream.unwrap_or_else(|| panic!("no line of a stream")).text("verdict");
    assert!(verdict.ends_with("it is the C library's own and cannot be padded"), "{verdict}");
}

/// libc's own code takes the lock of each stream when it flushes all: that is the lock which calls of the stream take.
#[test]
fn a_flush_of_all_streams_waits_for_the_lock_of_each() {
    let report = of("fflush_all");
    let locks = report.at(8).0["locks"].as_array().expect("locks");
    let stream = locks.iter().find(|lock| lock["name"] == "lock of stream `/dev/null`").expect("the stream's");
    assert!(stream["acquisitions"].as_u64() >= Some(8 * 1000), "{stream}");
    assert!(stream["wait_cycles"].as_u64() > Some(report.at(8).cycles()), "{stream}");
    assert!(locks.iter().all(|lock| lock["kind"] != "futex"), "{locks:?}");
}

#[test]
fn calls_that_share_a_variable_of_libc_take_turns() {
    takes_turns("rand", "lock of rand()");
    takes_turns("localtime", "lock of the time zone");
    takes_turns("setenv", "lock of the environment");
    takes_turns("atexit", "lock of the exit handlers");
    takes_turns("dladdr", "lock of the loader");
    takes_turns("dl_iterate_phdr", "lock of the list of loaded files");
    takes_turns("setlocale", "lock of the locale");
    takes_turns("iconv_open", "lock of the character set converters");
}

#[test]
fn calls_on_one_object_of_libc_take_turns() {
    takes_turns("readdir", "lock of a directory stream");
    takes_turns("regexec", "lock of a regular expression");
}

/// They take no lock, but each changes the state, which is libc's or the program's.
#[test]
fn generators_share_the_line_of_their_state() {
    for (call, object, sharing) in
        [("lrand48", "state of drand48()", "true sharing"), ("nrand48", "states (library_locks.c:", "false sharing")]
    {
        let report = of(call);
        assert!(report.at(8).share("stall") > 0.1, "{call}: {}", report.at(8).0["time"]);
        let line = report.at(8).lines().next().expect("a line");
        assert!(line.text("object").starts_with(object), "{call}: {}", line.text("object"));
        assert_eq!(line.text("sharing"), sharing, "{call}");
        assert!(report.at(8).0["locks"].as_array().expect("locks").iter().all(|lock| lock["name"] != "lock of rand()"));
    }
}

/// What the program is to lock by itself has its cost, and no lock.
#[test]
fn calls_without_a_lock_do_not() {
    for call in ["putc_unlocked", "fwrite_unlocked"] {
        let report = of(call);
        assert!(longer(&report) < 4.0, "{call}: {}", longer(&report));
        let locks = report.at(8).0["locks"].as_array().expect("locks");
        assert!(locks.iter().all(|lock| lock["contended"].as_u64() == Some(0)), "{call}: {locks:?}");
        assert!(report.at(1).cycles() > 20_000, "{call}: {}", report.at(1).cycles());
    }
}

/// What takes long in opening a file is not under the lock of libc's list.
#[test]
fn streams_that_are_opened_take_turns_at_the_list() {
    let report = of("fopen");
    let locks = report.at(8).0["locks"].as_array().expect("locks");
    assert!(locks.iter().any(|lock| lock["name"] == "lock of the list of streams"), "{locks:?}");
}

const ARENAS: &str = "truths/arenas.c";

/// A thread's own cache needs no lock, nor does an arena of its own one that others hold.
#[test]
fn threads_that_free_what_they_took_do_not_wait() {
    for size in [64, 500, 4000] {
        let report = calls(ARENAS, &format!("own {{cpus}} {size}"));
        assert!(longer(&report) < 1.5, "{size} bytes: {}", longer(&report));
    }
}

/// What other threads free goes back to the arena that it came from: under its lock, or by its list of small chunks.
#[test]
fn threads_that_free_what_others_took_meet_at_the_arena() {
    let report = calls(ARENAS, "others {cpus} 500");
    let lock = &report.at(8).0["locks"][0];
    assert_eq!((&lock["name"], &lock["kind"]), (&"malloc arena 0".into(), &"lock".into()), "{lock}");
    assert!(lock["contended"].as_u64() > Some(1000), "{lock}");
    let report = calls(ARENAS, "others {cpus} 64");
    let line = &report.at(8).0["lines"][0];
    assert!(line.to_string().contains("malloc arena 0"), "{line}");
}

/// By the program's own setting, or by the environment's.
#[test]
fn threads_with_a_single_arena_wait_for_it() {
    let waits = |report: &Report| {
        let lock = &report.at(8).0["locks"][0];
        lock["name"] == "malloc arena 0" && lock["contended"].as_u64() > Some(1000)
    };
    assert!(waits(&calls(ARENAS, "one {cpus} 4000")));
    for (name, value) in
        [("MALLOC_ARENA_MAX", "1"), ("GLIBC_TUNABLES", "glibc.malloc.arena_test=3:glibc.malloc.arena_max=1")]
    {
        let simulation = Simulation::of(&program(ARENAS)).cpus("1,8").option("--work", "per-cpu");
        let simulation = simulation.args("own {cpus} 4000").with(|command| _ = command.env(name, value));
        assert!(waits(&simulation.report()), "{name}");
    }
}
