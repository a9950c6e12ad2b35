// SPDX-License-Identifier: MIT OR Apache-2.0
//! What docs/limits.md says is not simulated as it is: each is said at run time, and none hangs.
use crate::harness::{Place, Simulated, Simulation, program, program_with};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

fn run(what: &str) -> Simulated {
    Simulation::of(&program("endings/limits.c")).cpus("2").args(what).timeout(LIMIT).run()
}

#[test]
fn what_is_done_without_is_noted() {
    for (what, words) in [
        ("inherit", "a mutex with a priority protocol is simulated as a plain one"),
        ("protect", "a mutex with a priority protocol is simulated as a plain one"),
        ("policy", "scheduling policies and priorities have no effect"),
        ("nice", "scheduling policies and priorities have no effect"),
        ("lock_pi", "a futex operation that is not simulated"),
        ("waitv", "the system call futex_waitv is not simulated"),
        ("io_uring", "the system call io_uring_setup is not simulated"),
    ] {
        let ended = run(what);
        assert_eq!(ended.said.code, Some(0), "{what}: {}{}", ended.said.out, ended.said.err);
        assert!(ended.said.out.contains(words), "{what}: {words:?} is not in:\n{}", ended.said.out);
    }
}

#[test]
fn what_would_be_wrong_ends_the_run() {
    for (what, words) in [
        ("aio", "aio_read() cannot be simulated"),
        ("vfork", "vfork() cannot be simulated"),
        ("clone", "makes threads by system calls"),
        ("exit", "ends itself by a system call"),
    ] {
        let ended = run(what);
        assert_eq!(ended.said.code, Some(6), "{what}: {}{}", ended.said.out, ended.said.err);
        assert!(ended.said.out.contains(words), "{what}: {words:?} is not in:\n{}", ended.said.out);
    }
}

/// Four threads load and unload two libraries, whose constructors begin threads and wait for them, and whose
/// thread-local objects are destroyed when the libraries are closed already.
#[test]
fn libraries_are_loaded_from_several_threads_at_once() {
    let place = Place::new();
    let library = program_with("endings/library.cpp", &["-shared", "-fPIC"]);
    for name in ["liba.so", "libb.so"] {
        std::fs::copy(&library, place.path(name)).unwrap();
    }
    let loads = program("endings/loads.c");
    for cpus in ["1", "8"] {
        let paths = format!("{} {}", place.path("liba.so").display(), place.path("libb.so").display());
        let ended = Simulation::of(&loads).cpus(cpus).args(&paths).timeout(LIMIT).run();
        assert_eq!(ended.said.code, Some(0), "{}{}", ended.said.out, ended.said.err);
        assert_eq!(ended.printed(), "13 14 15 16\n");
    }
}
