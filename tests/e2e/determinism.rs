// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same program, arguments and seed give the same recording, to the byte: whatever the host is busy
//! with, wherever and by whomever it is run.
use crate::harness::{Place, Program, Report, Simulation, program, program_with, said, skipped, stress};
use crate::mechanisms::profile;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Keeps the host's cores busy until it is dropped; one of them in `make test`, as other tests run meanwhile.
struct Load(std::sync::Arc<AtomicBool>);

impl Load {
    fn begin() -> Load {
        let going = std::sync::Arc::new(AtomicBool::new(true));
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
        for _ in 0..if stress() { cores } else { 1 } {
            let going = going.clone();
            std::thread::spawn(move || while going.load(Ordering::Relaxed) {});
        }
        Load(going)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The recording of one simulation, made in a directory and environment that are different each time.
fn record(program: &Program, args: &str, cpus: &str, time: usize) -> Vec<u8> {
    let place = Place::new();
    let deep = place.path(&"long/".repeat(time % 9));
    std::fs::create_dir_all(&deep).unwrap();
    let simulated = Simulation::of(program)
        .cpus(cpus)
        .args(args)
        .with(|command| {
            command
                .current_dir(deep)
                .env("HOME", place.directory())
                .env("LANG", ["C", "de_DE.UTF-8", "C.UTF-8"][time % 3]);
            command.env("CLUTTER", "x".repeat(997 * time)).env("XDG_CACHE_HOME", "/nowhere");
        })
        .run();
    assert_eq!(simulated.said.code, Some(0), "{}{}", simulated.said.out, simulated.said.err);
    std::fs::read(simulated.recording()).unwrap()
}

fn always_the_same(source: &str, args: &str) {
    let (times, cpus) = if stress() { (20, "1-9,16,20,21,40,41,79,80") } else { (3, "1,3,80") };
    let program = program(source);
    let first = record(&program, args, cpus, 0);
    let _load = Load::begin();
    for time in 1..times {
        let again = record(&program, args, cpus, time);
        assert!(first == again, "{source} {args}: recording {time} differs from the first");
    }
}

#[test]
fn a_contended_lock() {
    always_the_same("truths/tas.c", "{cpus} 4000");
}

#[test]
fn a_queue_lock() {
    always_the_same("truths/mcs.c", "{cpus} 4000");
}

#[test]
fn a_cxx_program_with_allocation_mutexes_and_condition_variables() {
    always_the_same("determinism/exchange.cpp", if stress() { "{cpus} 50" } else { "{cpus} 10" });
}

#[test]
fn threads_that_sleep_time_out_and_print_addresses() {
    always_the_same("determinism/sleepers.c", "{cpus}");
}

#[test]
fn runs_one_after_the_other_and_at_once_are_recorded_alike() {
    let program = program("determinism/exchange.cpp");
    let record = |jobs: &str| {
        let run = Simulation::of(&program).cpus("1,2,8,80").args("{cpus} 10").option("--jobs", jobs).run();
        assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
        std::fs::read(run.recording()).unwrap()
    };
    assert!(record("1") == record("2"), "two recordings differ");
}

/// Two runs that wait for each other end only if both cores have one.
#[test]
fn runs_at_several_counts_are_simulated_at_once() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        return skipped("this host has one core");
    }
    let place = Place::new();
    let fifo = place.path("fifo");
    assert_eq!(said(Command::new("mkfifo").arg(&fifo)).code, Some(0));
    let simulation = Simulation::of(&program("determinism/meet.c")).cpus("1,2").timeout(Duration::from_secs(30));
    let run = simulation.args(&format!("{{cpus}} {}", fifo.display())).run();
    assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
}

#[test]
fn a_program_sees_nothing_of_the_host_that_differs_from_run_to_run() {
    let program = program("determinism/seen.c");
    let seen = || {
        let said = Simulation::of(&program).cpus("2").run().said;
        let (seen, _) = said.err.split_once("\nend\n").expect("all of it");
        seen.to_string()
    };
    let first = seen();
    assert!(first.contains("4200000 4199999 4200000 4199999 4200000\n"), "{first}");
    assert_eq!(first, seen());
}

/// Another seed is another run; the seed is not just written down.
#[test]
fn the_seed_decides() {
    let program = program("determinism/exchange.cpp");
    let cycles = |seed: &str| {
        let report = Simulation::of(&program).cpus("8").option("--seed", seed).args("8 50").report();
        report.at(8).cycles()
    };
    assert_eq!(cycles("7"), cycles("7"));
    assert_ne!(cycles("7"), cycles("8"));
}

/// In a seed's schedule every access is an event; lines of the CPU's own that were evicted have to be refilled there, too, and
/// to be written back once they were modified again.
#[test]
fn a_seeds_schedule_refills_what_was_evicted() {
    let program = program("mechanisms/evicted.c");
    let cycles = |seed: &str, args: &str| {
        let machine = Simulation::of(&program).cpus("1").option("--machine", "bdw-2s-e5-2680v4").args(args);
        machine.option("--seed", seed).report().at(1).cycles()
    };
    for args in ["", "changes"] {
        let (plain, drawn) = (cycles("0", args), cycles("1", args));
        assert!(drawn * 10 > plain * 9, "{args}: {drawn}, not {plain}");
    }
}

/// Without slack, running ahead on lines that a CPU has and skipping turns of a spin change no time. (Mispredicted
/// branches are learnt from visits, of which a skipped turn has none.)
#[test]
fn without_slack_running_ahead_and_skipping_change_nothing() {
    are_alike(&program("truths/in_order.c"));
}

#[test]
fn without_slack_a_line_that_has_just_come_shows_what_was_written_before() {
    are_alike(&program_with("truths/in_order.c", &["-DHALVES"]));
}

/// Loops whose turns are known from their code are skipped at once, and may count them. What is accounted for is the same.
#[test]
fn without_slack_skipping_counted_turns_changes_nothing() {
    for level in ["-O1", "-O2", "-Os"] {
        let program = program_with("determinism/counting.c", &[level]);
        for machine in ["skylake-2s-80", "rome-2s-7742", "icl-i5-1035g4"] {
            print_alike(&program, machine, |report| report.at(8).0["time"].to_string());
        }
    }
}

/// A thread whose clock is ahead on a line that both write to must not make the other run ahead of it in turn.
#[test]
fn the_slack_does_not_decide_what_false_sharing_costs() {
    let place = Place::new();
    // A core that increments a word in a cycle.
    let machine = place.file("fast.toml", profile("rome-2s-7742", &[("forward", "value = 0, unit = \"cycles\"")]));
    let increments = program("mechanisms/increments.c");
    let picoseconds = |slack| {
        let run = Simulation::of(&increments).cpus("2").option("--machine", &machine.to_string_lossy());
        run.option("--slack", slack).run().printed().trim().parse::<f64>().expect("a number")
    };
    let exact = picoseconds("0");
    for slack in ["100", "200", "500"] {
        let ratio = picoseconds(slack) / exact;
        assert!((0.95..1.05).contains(&ratio), "{ratio} of {exact} ps with a slack of {slack}");
    }
}

/// Turn by turn, this takes minutes. One thread at a time is at work, in `hold`.
#[test]
fn counted_turns_are_skipped() {
    let run = Simulation::of(&program("determinism/counting.c")).cpus("8").args("1 8 4000000");
    let report = run.timeout(Duration::from_secs(40)).report();
    let functions = report.at(8).0["functions"].as_array().expect("functions");
    let hold = functions.iter().find(|f| f["name"] == "hold").expect("hold");
    let latency = hold["latency_percent"].as_f64();
    assert!(latency.is_some_and(|latency| latency > 95.0), "{hold}");
}

/// A turn of a spin is longer beside a busy sibling, and reads several words, between two of which others may store.
#[test]
fn without_slack_skipping_beside_a_sibling_that_begins_or_ends_changes_nothing() {
    for machine in ["icl-i5-1035g4", "skl-i7-6700hq"] {
        are_alike_on(&program("truths/in_order.c"), machine);
        are_alike_on(&program_with("truths/in_order.c", &["-DHALVES"]), machine);
        are_alike_on(&program("truths/beside.c"), machine);
    }
}

#[track_caller]
fn are_alike(program: &Program) {
    // Eight CPUs of the third have four cores, on which a sibling slows down nothing.
    let place = Place::new();
    let threads = profile("icl-i5-1035g4", &[("smt_percent", "value = 200, unit = \"percent\"")]);
    let threads = place.file("threads.toml", threads);
    for machine in ["skylake-2s-80", "rome-2s-7742", &threads.to_string_lossy()] {
        are_alike_on(program, machine);
    }
}

#[track_caller]
fn are_alike_on(program: &Program, machine: &str) {
    print_alike(program, machine, |_| String::new());
}

/// The same is printed, and `told` of the reports.
#[track_caller]
fn print_alike(program: &Program, machine: &str, told: fn(&Report) -> String) {
    let rounds = if stress() { 400 } else { 60 };
    let printed = |step_by_step: bool| {
        let run = Simulation::of(program)
            .cpus("8")
            .args(&format!("{rounds} 8"))
            .option("--machine", machine)
            .option("--slack", "0")
            .option("--without", "mispredict")
            .with(|command| {
                if step_by_step {
                    command.env("COREFOLD_STEP_BY_STEP", "1");
                }
            })
            .run();
        assert_eq!(run.said.code, Some(0), "{machine}: {}", run.said.err);
        (run.printed().to_owned(), told(&run.report()))
    };
    let (fast, slow) = (printed(false), printed(true));
    assert!(!fast.0.is_empty());
    assert_eq!(fast, slow, "{machine}");
}
