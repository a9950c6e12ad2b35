// SPDX-License-Identifier: MIT OR Apache-2.0
//! What docs/limits.md says is not simulated as it is: each is said at run time, and none hangs.
use crate::harness::{Compiler, Place, Simulated, Simulation, program, program_with, said, skipped};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

fn run(what: &str) -> Simulated {
    Simulation::of(&program("endings/limits.c")).cpus("2").args(what).timeout(LIMIT).run()
}

#[test]
fn calls_without_effect_are_noted() {
    for (what, words) in [
        ("inherit", "a mutex with a priority protocol is simulated as a plain one"),
        ("protect", "a mutex with a priority protocol is simulated as a plain one"),
        ("policy", "scheduling policies and priorities have no effect"),
        ("nice", "scheduling policies and priorities have no effect"),
        ("lock_pi", "a futex operation that is not simulated"),
        ("waitv", "the system call futex_waitv is not simulated"),
        ("io_uring", "the system call io_uring_setup is not simulated"),
        ("userfaultfd", "the system call userfaultfd is not simulated"),
        ("landlock", "the system call landlock_create_ruleset is not simulated"),
        ("seccomp", "the system call seccomp is not simulated"),
        ("prctl", "prctl(PR_SET_SECCOMP) is not simulated"),
        ("mask_call", "the system call rt_sigprocmask goes to the host's kernel"),
        ("stack", "switches stacks with its own instructions"),
    ] {
        let ended = run(what);
        assert_eq!(ended.said.code, Some(0), "{what}: {}{}", ended.said.out, ended.said.err);
        assert!(ended.said.out.contains(words), "{what}: {words:?} is not in:\n{}", ended.said.out);
    }
}

#[test]
fn calls_that_cannot_be_simulated_end_the_run() {
    for (what, words) in [
        ("aio", "aio_read() cannot be simulated"),
        ("vfork", "vfork() cannot be simulated"),
        ("signalfd", "signalfd() cannot be simulated"),
        ("system", "system() cannot be simulated"),
        ("exec", "execl() of /bin/true cannot be simulated"),
        ("clone", "creates threads by direct system calls"),
        ("exit", "exits by a direct system call"),
        ("vfork_call", "the program starts another process or program"),
        ("exec_call", "the program starts another process or program"),
        ("stop", "stops itself with signal 19"),
        ("context", "a signal handler changes the interrupted"),
    ] {
        let ended = run(what);
        assert_eq!(ended.said.code, Some(6), "{what}: {}{}", ended.said.out, ended.said.err);
        assert!(ended.said.out.contains(words), "{what}: {words:?} is not in:\n{}", ended.said.out);
    }
}

/// A benchmark looks for a plotter that is not installed, and goes on without.
#[test]
fn programs_that_are_not_there_are_not_started() {
    let ended = run("no_program");
    assert_eq!(ended.said.code, Some(0), "{}{}", ended.said.out, ended.said.err);
    assert_eq!(ended.printed(), "spawn: No such file or directory, exec: No such file or directory\n");
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

#[test]
fn a_wait_that_only_the_program_could_end_is_a_deadlock() {
    let waits = program("endings/waits.c");
    for (what, words) in [("semop", "waits for semaphore set"), ("msgrcv", "waits for message queue")] {
        let ended = Simulation::of(&waits).cpus("2").args(what).timeout(LIMIT).run();
        remove(&ended.said.out, words);
        assert_eq!(ended.said.code, Some(4), "{what}: {}{}", ended.said.out, ended.said.err);
        let told = ended.said.out.matches(words).count();
        assert!(told >= 2 && ended.said.out.contains(&format!("in {what}, at waits")), "{}", ended.said.out);
    }
}

/// The kernel keeps what has a number, whoever made it ends.
fn remove(said: &str, words: &str) {
    let number = said.split_once(words).and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    let number: i32 = number.expect("the object's number");
    // SAFETY: the object that the program made, which has ended.
    let code = unsafe {
        if words.contains("queue") {
            libc::msgctl(number, libc::IPC_RMID, std::ptr::null_mut())
        } else {
            libc::semctl(number, 0, libc::IPC_RMID)
        }
    };
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_wait_that_another_process_could_end_is_named_when_time_is_up() {
    let waits = program("endings/waits.c");
    let ended = Simulation::of(&waits).cpus("1").args("flock").timeout(Duration::from_secs(1)).run();
    assert_eq!(ended.said.code, Some(5), "{}{}", ended.said.out, ended.said.err);
    assert!(ended.said.out.contains("waits for a lock of file descriptor"), "{}", ended.said.out);
    assert!(ended.said.out.contains("in flock, at"), "{}", ended.said.out);
}

#[test]
fn a_sent_fault_signal_is_distinguished_from_a_fault() {
    let ended = Simulation::of(&program("endings/waits.c")).cpus("1").args("raise").timeout(LIMIT).run();
    assert!(ended.said.out.contains("crashed: SIGSEGV (sent, not a fault) in thread 0"), "{}", ended.said.out);
}

/// Vectors that the compilers have no hooks for, and what instructions of the program's own hide.
#[test]
fn vectors_without_hooks_are_seen_and_what_is_hidden_is_said() {
    if !std::is_x86_feature_detected!("avx2") {
        return skipped("this processor has no AVX2");
    }
    for compiler in Compiler::installed() {
        let vectors = compiler.program("endings/vectors.c", &["-mavx2"]);
        let ended = Simulation::of(&vectors).cpus("8").args("{cpus}").timeout(LIMIT).run();
        assert_eq!(ended.said.code, Some(0), "{}{}", ended.said.out, ended.said.err);
        let report = ended.report();
        let run = report.at(8);
        for object in ["wide", "streamed", "masked"] {
            let fought = run.lines().any(|line| line.text("object").starts_with(&format!("{object} (")));
            assert!(fought, "{compiler:?}: {object} is not in\n{}", ended.said.out);
        }
        let notes = run.0["notes"].to_string();
        for words in ["a vector instruction gathers", "what the processor is (cpuid", "consists of bytes"] {
            assert!(notes.contains(words), "{compiler:?}: {words:?} is not in {notes}");
        }
    }
}

/// One thread reads a mapping that another writes to by calls.
#[test]
fn a_write_to_a_mapped_file_moves_the_lines_of_the_mapping() {
    let shares = program("endings/shares.c");
    for what in ["pwrite", "write"] {
        let report = Simulation::of(&shares).cpus("2").args(what).timeout(LIMIT).report();
        let run = report.at(2);
        let line = run.lines().next().expect("a line that is fought for");
        for (kind, function) in [("read", "reads"), ("write", "writes")] {
            let found = line.sites().iter().any(|site| site["kind"] == kind && site["function"] == function);
            assert!(found, "{what}: {:?}", line.sites());
        }
    }
}

/// Past every way in which system calls are caught: all threads stand still, and that is said.
#[test]
fn a_wait_that_blocks_all_threads_ends_the_run() {
    let written = program("endings/written.c");
    for (what, limit) in [("futex", LIMIT), ("read", Duration::from_secs(1))] {
        let ended = Simulation::of(&written).cpus("2").args(what).timeout(limit).run();
        assert_eq!(ended.said.code, Some(6), "{what}: {}{}", ended.said.out, ended.said.err);
        for words in [format!("blocked in the system call {what},"), "#0  main (written.c:".into()] {
            assert!(ended.said.out.contains(&words), "{what}: {words:?} is not in:\n{}", ended.said.out);
        }
    }
}

#[test]
fn memory_that_is_mapped_twice_has_one_set_of_futexes() {
    for seed in ["0", "1", "2", "3"] {
        let ended = Simulation::of(&program("endings/twice.c")).cpus("2").option("--seed", seed).timeout(LIMIT).run();
        assert_eq!(ended.said.code, Some(0), "{}{}", ended.said.out, ended.said.err);
        assert_eq!(ended.printed(), "200 200\n");
        assert!(ended.said.out.contains("maps memory twice"), "{}", ended.said.out);
    }
}

#[test]
fn a_library_that_spins_unseen_is_named_when_time_is_up() {
    let place = Place::new();
    let source = place.file("spins.c", "void spin(volatile int *word)\n{\n\twhile (!*word)\n\t\t;\n}\n");
    let library = place.path("libspins.so");
    let built = said(Command::new("gcc").args(["-O2", "-shared", "-fPIC"]).arg(source).arg("-o").arg(&library));
    assert_eq!(built.code, Some(0), "{}", built.err);
    let directory = place.directory().display().to_string();
    let options = [format!("-Wl,--no-as-needed,-rpath,{directory}"), format!("-L{directory}"), "-lspins".into()];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let ended =
        Simulation::of(&program_with("endings/spins.c", &options)).cpus("2").timeout(Duration::from_secs(1)).run();
    assert_eq!(ended.said.code, Some(5), "{}{}", ended.said.out, ended.said.err);
    for words in ["an uninstrumented library does not return", "#0  spin", "#1  main (spins.c:"] {
        assert!(ended.said.out.contains(words), "{words:?} is not in:\n{}", ended.said.out);
    }
}

/// Natively, glibc's first call of a function takes 2 kilobytes of a stack. The runtime is to take hardly more: coroutines have
/// stacks of 16, and nobody notices what is written below them.
#[test]
fn little_of_a_small_stack_is_used() {
    let run = Simulation::of(&program("truths/stack_depth.c")).cpus("4").run();
    assert_eq!(run.said.code, Some(0), "{}{}", run.said.err, run.said.out);
    let mut kinds = 0;
    for (kind, bytes) in run.printed().lines().filter_map(|line| line.split_once(' ')) {
        let most = if kind == "assembly" { 5000 } else { 4000 };
        assert!(bytes.parse::<u32>().expect("bytes") <= most, "{kind}: {bytes} bytes");
        kinds += 1;
    }
    assert_eq!(kinds, 11, "{}", run.printed());
}
