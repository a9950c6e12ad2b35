// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that check themselves give the same, whether simulated or not, at every number of CPUs.
use crate::harness::{Place, Program, Said, Simulation, native_with, program, programs, said, stress};
use std::sync::Mutex;

/// The numbers of CPUs that each program is simulated with.
fn counts() -> &'static str {
    if stress() { "1,8,80" } else { "1,80" }
}

/// What a program says when it runs by itself. What it prints on stderr is its own affair.
fn by_itself(program: &Program) -> Result<String, String> {
    let Said { code, out, err } = said(&mut Place::new().command(program));
    if code == Some(0) { Ok(out) } else { Err(format!("ends with {code:?}: {err}")) }
}

/// What it says when it is simulated, at one number of CPUs after the other: it may write files.
fn simulated(program: &Program) -> Result<String, String> {
    let simulated = Simulation::of(program).cpus(counts()).option("--jobs", "1").without_json().run();
    let printed = simulated.printed_at_each().unwrap_or(&simulated.said.err);
    match simulated.said.code {
        Some(0) => Ok(printed.to_owned()),
        code => Err(format!("ends with {code:?}: {}{}", simulated.said.err, simulated.said.out)),
    }
}

/// For the compiler where a program only has to say what is right: it compiles faster.
pub const AT_ONCE: &[&str] = &["-O0", "-g0"];

/// What is wrong with a program, if anything.
fn check(source: &str) -> Result<(), String> {
    check_built(source, &native_with(source, AT_ONCE), &program(source))
}

/// The same, as it was built.
pub fn check_built(source: &str, native: &Program, program: &Program) -> Result<(), String> {
    let expected = by_itself(native).map_err(|e| format!("{source} by itself {e}"))?;
    let same = |how: &str, got: Result<String, String>| match got {
        Ok(text) if text == expected => Ok(()),
        Ok(text) => Err(format!("{source} {how} prints\n{text}and not\n{expected}")),
        Err(error) => Err(format!("{source} {how} {error}")),
    };
    same("with hooks, not simulated,", by_itself(program))?;
    same(&format!("at {} CPUs", counts()), simulated(program))
}

/// Checks all programs of a directory, and says what is wrong with each.
fn check_all(directory: &str) {
    let sources = programs(directory);
    assert!(!sources.is_empty(), "{directory} is empty");
    let left = Mutex::new(sources.into_iter());
    let wrong = Mutex::new(Vec::new());
    let work = || {
        let next = || left.lock().unwrap().next();
        while let Some(source) = next() {
            if let Err(error) = check(&source) {
                wrong.lock().unwrap().push(error);
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} programs fail:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn pthread_objects() {
    check_all("pthread");
}

#[test]
fn libc_functions() {
    check_all("libc");
}

#[test]
fn inline_assembly() {
    check_all("assembly");
}

#[test]
fn signals_and_timers() {
    check_all("signals");
}

#[test]
fn cancellation() {
    check_all("cancel");
}

#[test]
fn non_local_exits_of_functions() {
    check_all("jumps");
}

/// Linux ends timed waits late, by 50 microseconds or what the thread has asked for, poll by a thousandth of its time if that
/// is more. What is over that is the wake-up.
#[test]
fn timed_waits_end_later_by_the_timer_slack() {
    let run = Simulation::of(&program("truths/slack.c")).cpus("4").run();
    let lasted = |what: &str| {
        let line = run.printed().lines().find_map(|line| line.strip_prefix(what)).unwrap_or_else(|| panic!("{what}"));
        line.trim().parse::<i64>().expect("a number")
    };
    for (what, asked) in
        [("sleep", 55), ("none", 50), ("condition", 55), ("poll", 200_200), ("exact", 5), ("inherited", 5)]
    {
        let late = lasted(what) - asked;
        assert!((0..10).contains(&late), "{what}: {late} µs later than {asked}");
    }
    assert_eq!(lasted("slack"), 1);
}
