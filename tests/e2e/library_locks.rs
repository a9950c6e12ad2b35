// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks that the C library takes in its own calls: calls of many threads at once take turns, and the report says at
//! which lock.
use crate::harness::{Report, Simulation, program};

const PROGRAM: &str = "truths/library_locks.c";

fn of(call: &str) -> Report {
    let simulation = Simulation::of(&program(PROGRAM)).cpus("1,8").option("--work", "per-cpu");
    simulation.args(&format!("{call} {{cpus}}")).report()
}

/// Each CPU makes the same calls; where they take turns, more of them take as much longer.
fn takes_turns(call: &str, name: &str) {
    let report = of(call);
    let longer = report.at(8).cycles() as f64 / report.at(1).cycles() as f64;
    assert!(longer > 8.0 / 1.5, "{call}: {longer}");
    let lock = &report.at(8).0["locks"][0];
    assert_eq!((&lock["name"], &lock["kind"]), (&name.into(), &"lock".into()), "{call}: {lock}");
    assert!(lock["contended"].as_u64() > Some(1000), "{call}: {lock}");
}

#[test]
fn calls_of_one_stream_take_turns() {
    for call in ["fprintf", "vfprintf", "fwrite", "fputs", "putc"] {
        takes_turns(call, "lock of stream `null`");
    }
    for call in ["fgetc", "fgets", "fscanf"] {
        takes_turns(call, "lock of stream `zero`");
    }
}

#[test]
fn calls_that_share_a_variable_of_libc_take_turns() {
    takes_turns("rand", "lock of rand()");
    takes_turns("localtime", "lock of the time zone");
    takes_turns("setenv", "lock of the environment");
    takes_turns("atexit", "lock of the exit handlers");
    takes_turns("dladdr", "lock of the loader");
}

/// What takes long in opening a file is not under the lock of libc's list.
#[test]
fn streams_that_are_opened_take_turns_at_the_list() {
    let report = of("fopen");
    let locks = report.at(8).0["locks"].as_array().expect("locks");
    assert!(locks.iter().any(|lock| lock["name"] == "lock of the list of streams"), "{locks:?}");
}
