// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that do not end well, and what cannot be simulated: a clear message, the documented exit
//! code, nothing left running, and what was simulated before is saved.
use crate::harness::{Place, Program, Said, Simulated, Simulation, native, program, said};
use std::path::Path;
use std::time::{Duration, Instant};

const ENDS: &str = "endings/ends.c";

/// Simulates a program that ends well at 1 and 2 CPUs, and at 4 and 8 in the way it is told.
fn end(how: &str) -> Simulated {
    end_with(how, |simulation| simulation)
}

fn end_with(how: &str, options: impl FnOnce(Simulation) -> Simulation) -> Simulated {
    let simulation = Simulation::of(&program(ENDS)).cpus("1,2,4,8").args(&format!("{{cpus}} {how}"));
    let simulated = options(simulation.timeout(Duration::from_secs(20))).run();
    nothing_is_left(&program(ENDS), how);
    simulated
}

/// No process of this program is left that has `argument` on its command line.
fn nothing_is_left(program: &Program, argument: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while processes(program, argument) > 0 {
        assert!(Instant::now() < deadline, "a process is left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn processes(program: &Program, argument: &str) -> usize {
    let runs_it = |process: &Path| {
        let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
        std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == *program)
            && words.split(|&b| b == 0).any(|word| word == argument.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| runs_it(&entry.path())).count()
}

/// The exit code is `code`, the report says `words`, and the counts before are there, and saved.
#[track_caller]
fn check(ended: &Simulated, code: i32, words: &[&str]) {
    let Said { out, err, .. } = &ended.said;
    assert_eq!(ended.said.code, Some(code), "{out}{err}");
    for word in words {
        assert!(out.contains(word), "{word:?} is not in:\n{out}");
    }
    let endings: Vec<String> = ended.report().runs().map(|r| r.ending().to_owned()).collect();
    assert_eq!(endings.len(), 4);
    assert_eq!(endings[..2], ["exited with code 0", "exited with code 0"]);
    let again = ended.again();
    assert_eq!((again.code, &again.out), (Some(0), out), "{}", again.err);
}

#[test]
fn a_program_that_exits_with_another_status() {
    check(&end("exit"), 1, &["exited with code 3"]);
    check(&end("exit-minus"), 1, &["exited with code 253"]);
}

#[test]
fn a_crash_names_the_place() {
    let ended = end("crash");
    assert!(!ended.said.out.contains("overflow"), "{}", ended.said.out);
    check(&ended, 3, &["SIGSEGV", "0x10", "store_through", "ends.c"]);
}

#[test]
fn a_stack_overflow_and_an_abort_are_crashes_too() {
    check(&end("overflow"), 3, &["crashed: stack overflow in thread 0 (SIGSEGV", "deeper"]);
    check(&end("overflow-thread"), 3, &["crashed: stack overflow in thread 1 (SIGSEGV", "count_down"]);
    check(&end("overflow-array"), 3, &["crashed: stack overflow in thread 0 (SIGSEGV", "end (ends.c"]);
    check(&end("abort"), 3, &["SIGABRT"]);
}

/// As with glibc's allocator, which says the same.
#[test]
fn a_bad_free_aborts() {
    for (how, said) in [("free-twice", "free(): double free detected"), ("free-inside", "free(): invalid pointer")] {
        let ended = end(how);
        check(&ended, 3, &["SIGABRT", "give_back (ends.c:"]);
        assert!(ended.printed().contains(said), "{how}: {}", ended.printed());
    }
}

#[test]
fn a_deadlock_names_the_waiting_threads() {
    let ended = end("mutexes");
    check(&ended, 4, &["deadlock", "left_then_right", "right_then_left", "pthread_mutex_lock"]);
    let report = ended.report();
    let details = report.at(4).0["ending"]["details"].as_array().unwrap();
    for sentence in [
        "thread 0 waits for the end of thread 1 in pthread_join",
        "thread 1 waits for mutex `right` (held by thread 2) in pthread_mutex_lock",
        "thread 2 waits for mutex `left` (held by thread 1) in pthread_mutex_lock",
    ] {
        assert!(details.iter().any(|d| d.as_str().unwrap().starts_with(sentence)), "{sentence}: {details:?}");
    }
}

#[test]
fn other_deadlocks_are_distinguished() {
    check(&end("itself"), 4, &["deadlock", "pthread_mutex_lock", "left"]);
    check(&end("join"), 4, &["deadlock", "pthread_join", "join_main"]);
    check(&end("pipe"), 4, &["deadlock", "read"]);
}

#[test]
fn a_program_that_never_ends_is_stopped() {
    let begun = Instant::now();
    let ended = end_with("endless", |s| s.timeout(Duration::from_secs(1)));
    check(&ended, 5, &["main"]);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// Sleeping costs virtual time only, and that has no end.
#[test]
fn a_program_that_sleeps_for_ever_is_stopped() {
    check(&end_with("sleeper", |s| s.timeout(Duration::from_secs(1))), 5, &[]);
}

#[test]
fn a_fork_is_refused() {
    check(&end("fork"), 6, &["fork", "ends.c"]);
}

#[test]
fn running_out_of_memory_is_reported() {
    check(&end_with("memory", |s| s.option("--memory", "64M")), 7, &["memory", "take_all_memory"]);
}

/// Signals that end a program, and waits for ones that do not come: exit code and words of the report.
#[test]
fn signals_end_a_program_in_words() {
    let cases: [(&str, i32, &[&str]); 8] = [
        ("alarm", 3, &["ended by the unhandled signal SIGALRM in thread 0", "signals.c"]),
        ("other", 3, &["ended by the unhandled signal SIGUSR2", "in thread 1", "wait_here"]),
        ("joins", 3, &["ended by the unhandled signal SIGUSR2", "in thread 0", "main"]),
        ("process", 3, &["ended by the unhandled signal SIGTERM", "end_main"]),
        ("pause", 4, &["thread 1 waits for a signal in pause, at wait_here"]),
        ("stop", 6, &["the program stops itself with signal 19"]),
        ("descriptor", 6, &["signalfd() cannot be simulated"]),
        ("libc", 3, &["SIGSEGV", "measure", "main"]),
    ];
    for (how, code, words) in cases {
        let ended = Simulation::of(&program("endings/signals.c")).cpus("2").args(how).run();
        assert_eq!(ended.said.code, Some(code), "{how}: {}{}", ended.said.out, ended.said.err);
        for word in words {
            assert!(ended.said.out.contains(word), "{how}: {word:?} is not in:\n{}", ended.said.out);
        }
        assert!(!ended.printed().contains("goes on"), "{how}: {}", ended.printed());
    }
}

/// The C++ library calls pthread_join; who called the C++ library is told all the same.
#[test]
fn a_wait_inside_a_library_names_the_programs_function() {
    let ended = Simulation::of(&program("endings/joins.cpp")).cpus("2").run();
    assert_eq!(ended.said.code, Some(4), "{}{}", ended.said.out, ended.said.err);
    assert!(ended.said.out.contains("wait_for (joins.cpp:"), "{}", ended.said.out);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let place = Place::new();
    let plain = native(ENDS);
    let elf = std::fs::read(program(ENDS)).unwrap();
    let mut other = elf.clone();
    other[18..20].copy_from_slice(&183u16.to_le_bytes()); // e_machine: AArch64
    place.file("other", &other);
    place.file("text", "#include <stdio.h>\n");
    place.sh("chmod +x other text");
    place.file("older.c", "void corefold_slow_read8(int); int main(int n, char **a) { corefold_slow_read8(n); }\n");
    place.file("slow.c", "void corefold_slow_read8(int n) { (void)n; }\n");
    place.sh("gcc -shared -fPIC slow.c -o libslow.so && gcc older.c -o older ./libslow.so");
    place.sh("sed -i s/slow_read/line_read/g older.c slow.c");
    place.sh("gcc -shared -fPIC slow.c -o libline.so && gcc older.c -o old ./libline.so");
    for (program, reason) in [
        (plain.to_str().unwrap(), "is not instrumented"),
        ("./text", "is not an ELF program"),
        ("./other", "is built for Aarch64"),
        ("./nothing", "does not exist"),
        ("./older", "compiled by an older `corefold cc`"),
        ("./old", "compiled by an older `corefold cc`"),
    ] {
        refused(&place, &format!("run -- {program}"), reason);
    }
}

#[test]
fn a_machine_or_count_that_is_not_there_is_refused() {
    let place = Place::new();
    let good = program(ENDS);
    place.file("bad.toml", "name = \"bad\"\ndescription = \"x\"\n[latency]\nsmt = { value = 1, unit = \"parsec\" }\n");
    for (options, reason) in [
        ("--machine cray-1", "cray-1"),
        ("--machine ./bad.toml", "./bad.toml:4: latency.smt"),
        ("--cpus 0", "0 CPUs: a run needs at least 1"),
        ("--cpus 2000", "the largest machine, generic-1024, has 1024"),
        ("--cpus 5000", "4096 is the most that can be simulated"),
        ("--cpus 81", "clx-2s-8275cl has 96"),
    ] {
        refused(&place, &format!("run {options} -- {} 1 exit", good.display()), reason);
    }
}

/// A recording that cannot be written is told as such, with what to do. (The limit on the size of files stands for a full
/// disk: no rights are needed to set it.)
#[test]
fn a_recording_that_cannot_be_written_says_why() {
    let place = Place::new();
    let run = format!("run --cpus 8 -- '{}' fprintf 8", program("truths/library_locks.c").display());
    let said = place.sh(&format!("ulimit -f 2; exec \"$corefold\" {run}"));
    assert_eq!(said.code, Some(8), "{}{}", said.out, said.err);
    for words in ["could not write its recording", "File too large", "ulimit -f"] {
        assert!(said.out.contains(words), "{words:?} is not in:\n{}{}", said.out, said.err);
    }
}

#[track_caller]
fn refused(place: &Place, line: &str, reason: &str) {
    let said = place.corefold(line);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{line}: {}", said.err);
    assert!(said.err.contains(reason), "{line}: {}", said.err);
    assert!(!place.path("corefold.rec").exists(), "{line}: nothing was simulated");
}

/// The codes that these tests expect are the documented ones.
#[test]
fn the_exit_codes_are_documented() {
    let help = Place::new().corefold("run --help").out;
    for (code, word) in
        [(1, "status"), (2, "bad input"), (3, "crashed"), (4, "deadlock"), (5, "--timeout"), (6, "fork")]
    {
        let line = help.lines().find(|l| l.starts_with(&format!("  {code}  "))).expect("a line for the code");
        assert!(line.contains(word), "{line}");
    }
}

/// Compiled for another purpose, run by itself: an instrumented program is a program.
#[test]
fn an_instrumented_program_runs_by_itself() {
    let said = said(Place::new().command(program(ENDS)).args(["1", "exit"]));
    assert_eq!(said.code, Some(0), "{}", said.err);
}
