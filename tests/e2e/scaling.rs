// SPDX-License-Identifier: MIT OR Apache-2.0
//! Truths of multicore scaling that a simulation has to know.
use crate::harness::{Report, Simulation, program_with};

fn curve(source: &str, options: &[&str], cpus: &str, args: &str) -> Report {
    let program = program_with(&format!("truths/{source}"), options);
    Simulation::of(&program).cpus(cpus).args(args).report()
}

/// Is `value` within `percent` of `expected`?
#[track_caller]
fn close(value: f64, expected: f64, percent: f64) {
    let off = 100.0 * (value / expected - 1.0).abs();
    assert!(off <= percent, "{value:.3} is {off:.1} % off {expected:.3}, more than {percent} %");
}

/// What a core's two threads get done, against one alone: as the machine's profile says.
const SMT: f64 = 1.25;

#[test]
fn private_work_scales_linearly_over_cores_and_as_the_profile_says_over_smt_siblings() {
    // Long enough that starting the threads, one by one, is a small part.
    let report = curve("private.c", &[], "1,2,8,20,40,80", "{cpus} 2000");
    for cpus in [2, 8, 20, 40] {
        close(report.gain(cpus, 1), cpus as f64, 3.0);
    }
    close(report.gain(80, 1), 40.0 * SMT, 4.0);
    assert!(report.at(80).share("compute") > 0.95);
}

/// A core begins the next walk before it has ended one, unless it needs what the walk found to begin.
#[test]
fn short_walks_overlap_as_far_as_a_core_looks_ahead() {
    let cycles = |how| curve("short_walks.c", &[], "1", how).at(1).cycles() as f64 / 20_000.0;
    let (apart, chained) = (cycles("apart"), cycles("chained"));
    assert!((80.0..100.0).contains(&chained), "{chained}: sixteen loads, five cycles each");
    assert!(apart < chained * 0.6, "{apart} and {chained}");
}

#[test]
fn one_test_and_set_lock_collapses() {
    let report = curve("tas.c", &[], "1,2,8,80", "{cpus} 8000");
    assert!(report.gain(8, 1) < 0.5, "{}", report.gain(8, 1));
    assert!(report.gain(80, 1) < 0.1, "{}", report.gain(80, 1));
    let run = report.at(80);
    assert!(run.share("spin") + run.share("stall") > 0.9);
    let line = run.lines().next().expect("a line");
    assert!(line.text("object").starts_with("lock (tas.c:"), "{}", line.text("object"));
}

#[test]
fn a_spun_word_is_among_the_locks() {
    let report = curve("tas.c", &[], "8", "{cpus} 8000");
    let lock = &report.at(8).0["locks"][0];
    assert!(lock["name"].as_str().unwrap_or_default().starts_with("lock"), "{lock}");
    assert_eq!(lock["kind"], "spun word");
    // The first turns of a thread alone are not seen: its line is not yet shared.
    let seen = |key: &str| lock[key].as_u64().expect("a number");
    assert!(seen("acquisitions") > 6000 && seen("acquisitions") <= 8000, "{lock}");
    assert!(seen("contended") > 500 && seen("wait_cycles") > 0, "{lock}");
    // One thread at a time holds it; it is free while its line is on the way to the next.
    let held = seen("hold_cycles") as f64 / report.at(8).0["cycles"].as_f64().expect("cycles");
    assert!((0.1..1.0).contains(&held), "{held}: {lock}");
}

/// Handing over costs the same however many wait. With two sockets it costs more, as the queue goes to
/// and fro between them, but again not the more the more wait.
#[test]
fn a_queue_lock_holds_flat() {
    let report = curve("mcs.c", &[], "8,20,40,80", "{cpus} 8000");
    close(report.gain(20, 8), 1.0, 15.0);
    // The queue keeps the order in which the threads came, so how often it crosses between the sockets differs.
    assert!(report.gain(80, 40) > 0.7, "{}", report.gain(80, 40));
    let tas = curve("tas.c", &[], "80", "{cpus} 8000");
    // A pause is charged where it stands, and a busy sibling slows it: 2.2 times.
    assert!(report.throughput(80) > 1.8 * tas.throughput(80));
}

#[test]
fn two_counters_in_one_line_are_false_sharing_by_field_and_padding_removes_it() {
    let report = curve("two_counters.c", &[], "1,2", "{cpus} 20000");
    assert!(report.gain(2, 1) < 1.0, "{}", report.gain(2, 1));
    let line = report.at(2).lines().next().expect("a line");
    assert_eq!(line.text("sharing"), "false sharing");
    assert_eq!(line.fields(), ["counters.requests", "counters.replies"]);
    assert!(line.percent("stall_percent") > 90.0);
    for name in ["requests", "replies"] {
        assert!(line.text("verdict").contains(name), "{}", line.text("verdict"));
    }
    for site in &line.sites()[..2] {
        assert_eq!((site["function"].as_str(), site["kind"].as_str()), (Some("work"), Some("atomic rmw")));
        assert!(site["file"].as_str().unwrap().ends_with("two_counters.c") && site["line"].as_u64() > Some(20));
    }

    let padded = curve("two_counters.c", &["-DPADDED"], "1,2", "{cpus} 20000");
    close(padded.gain(2, 1), 2.0, 2.0);
    assert!(padded.at(2).lines().all(|line| line.text("sharing") != "false sharing"));
}

#[test]
#[ignore = "takes long: make stress runs it"]
fn a_read_mostly_line_costs_nothing() {
    let shared = curve("read_mostly.c", &[], "1,40,80", "{cpus} 10000");
    let own = curve("read_mostly.c", &["-DOWN_COPY"], "1,40,80", "{cpus} 10000");
    for cpus in [1, 40, 80] {
        close(shared.throughput(cpus), own.throughput(cpus), 2.0);
    }
    close(shared.gain(40, 1), 40.0, 4.0);
}

/// Nanoseconds a hop between CPU 0 and another.
fn hop(partner: u32) -> f64 {
    let report = curve("ping_pong.c", &[], "80", &format!("{partner} 1000"));
    1e9 / report.throughput(80)
}

#[test]
fn crossing_the_socket_shows_as_a_step() {
    let [neighbour, last, across, farthest, sibling] = [1, 19, 20, 39, 40].map(hop);
    close(neighbour, last, 2.0);
    close(across, farthest, 2.0);
    assert!(across > 2.0 * last, "{across} ns to the other socket, {last} ns within");
    assert!(sibling < 0.7 * neighbour, "{sibling} ns to the sibling, {neighbour} ns to a neighbour");

    // One counter of all: another CPU within the socket costs nothing. Across sockets each transfer takes longer, but
    // the owner gets more done until the snoop comes.
    let report = curve("one_counter.c", &[], "16,18,20,22,24", "{cpus} 2000");
    close(report.gain(20, 16), 1.0, 1.0);
    close(report.gain(24, 20), 1.0, 15.0);
    let classes = |cpus| report.at(cpus).0["transfers_by_class"].clone();
    assert!(classes(20)["remote_modified"].is_null() && classes(24)["remote_modified"].as_u64() > Some(0));
}

/// What a program prints at one number of CPUs: numbers, one in a line.
fn all_printed(source: &str, cpus: &str, args: &str) -> Vec<f64> {
    let ended = Simulation::of(&program_with(&format!("truths/{source}"), &[])).cpus(cpus).args(args).run();
    let numbers: Option<Vec<f64>> = ended.printed().lines().map(|line| line.parse().ok()).collect();
    numbers.unwrap_or_else(|| panic!("no number: {}{}", ended.said.err, ended.said.out))
}

/// The first of them.
fn printed(source: &str, cpus: &str, args: &str) -> f64 {
    *all_printed(source, cpus, args).first().expect("a number")
}

/// Microseconds that a sleeper is late on a CPU that another thread keeps busy.
#[test]
fn a_long_sleeper_preempts_and_one_that_has_run_as_much_waits_for_the_slice() {
    assert!(printed("preempt.c", "1", "20000") < 20.0);
    assert!(printed("preempt.c", "1", "20000 1 6000") < 20.0);
    let short = printed("preempt.c", "1", "200 1 6000");
    assert!((1000.0..4000.0).contains(&short), "{short}");
}

/// A thread that only sleeps gets far behind the busy ones of its CPU, and stays so: from the second slice on it
/// preempts at once, however short each sleep is.
#[test]
fn a_thread_that_sleeps_again_and_again_waits_for_one_slice_in_all() {
    for (cpus, args) in [("1", "100"), ("4", "100 4"), ("4", "20 4"), ("2", "100 6")] {
        let [worst, all] = all_printed("preempt.c", cpus, args)[..] else { panic!("two numbers") };
        // 20 sleeps, each with its switch of threads; slices of 3 ms, one for each thread of the sleeper's CPU.
        let busy = if args.ends_with('6') { 3.0 } else { 1.0 };
        assert!(worst < busy * 3100.0 && all < busy * 3100.0 + 20.0 * 50.0, "{cpus} CPUs, {args}: {worst}, {all}");
    }
}

/// Nanoseconds of a membarrier: a system call alone; then what the interrupts take, the more the more CPUs.
#[test]
fn a_membarrier_costs_an_interrupt_to_every_cpu() {
    let [alone, two, many] = ["1", "2", "80"].map(|cpus| printed("membarrier.c", cpus, "{cpus}"));
    assert!(alone < 300.0 && two > alone + 1000.0 && two < 3000.0, "{alone} {two}");
    close(many - two, 78.0 * 60.0, 10.0);
}

/// So does a membarrier among threads that spin, though turns of theirs are not simulated one by one.
#[test]
fn a_membarrier_finds_threads_that_spin_where_they_are() {
    let [busy, spinning] = ["{cpus}", "{cpus} spin"].map(|args| printed("membarrier.c", "4", args));
    close(spinning, busy, 10.0);
}

/// Samples stand for time: those of threads that run for moments only must not count for more.
#[test]
fn functions_add_up_to_cpu_time() {
    let report = curve("blocking.c", &[], "16", "16 500");
    let run = report.at(16);
    let cycles = |of: &serde_json::Value, name: &str| of[name].as_f64().expect("cycles");
    let on_cpu = |of: &serde_json::Value| ["compute", "stall", "spin"].map(|name| cycles(of, name)).iter().sum::<f64>();
    let functions = run.0["functions"].as_array().expect("functions");
    assert!(run.share("block") > 0.8);
    close(functions.iter().map(|f| on_cpu(&f["self_time"])).sum(), on_cpu(&run.0["time"]), 2.0);
}

/// Nor is it told by a sample alone whether its time was a spin's: the next turn of the loop tells. And an atomic operation
/// on a line that is there takes time, and waits for nothing.
#[test]
fn functions_wait_as_long_as_threads_do() {
    let held = |lock| ("held_work.c", "work", 16, format!("16 {lock}"));
    for (source, function, cpus, args) in
        [held("own"), held("pthread"), ("uncontended.c", "main", 1, "spinlock 100000".into())]
    {
        let report = curve(source, &[], &cpus.to_string(), &args);
        let run = report.at(cpus);
        let cycles = |of: &serde_json::Value, name: &str| of[name].as_f64().expect("cycles");
        let on_cpu: f64 = ["compute", "stall", "spin"].map(|name| cycles(&run.0["time"], name)).iter().sum();
        let functions = run.0["functions"].as_array().expect("functions");
        for name in ["compute", "stall", "spin"] {
            let sampled: f64 = functions.iter().map(|f| cycles(&f["self_time"], name)).sum();
            let difference = 100.0 * (sampled - cycles(&run.0["time"], name)) / on_cpu;
            assert!(difference.abs() < 3.0, "{args}: {name} differs by {difference} percent of all time");
        }
        let all = functions.iter().find(|f| f["name"] == function).expect("the threads' function");
        close(all["latency_percent"].as_f64().expect("of a run in which hardly anybody sleeps"), 100.0, 6.0);
    }
}

/// A function that runs while nobody else does is named, whatever the others wait for meanwhile; one that all call is not.
#[test]
fn what_runs_alone_is_named() {
    for (how, stage) in [("merges", "merge"), ("watched", "merge"), ("holds", "write_log")] {
        let report = curve("serial.c", &[], "1,16", &format!("{how} {{cpus}}"));
        let run = report.at(16);
        let found = &run.0["serial_stage"];
        assert_eq!(found["name"], stage, "{how}: {found}");
        let percent = found["percent"].as_f64().expect("a share");
        assert!((60.0..98.0).contains(&percent), "{how}: {found}");
        let text = report.0["finding"]["text"].as_str().expect("a text");
        assert!(
            text.contains(&format!("hardly more than one thread was at work, in {stage} (serial.c:")),
            "{how}: {text}"
        );
        let latency = |name: &str| {
            let functions = run.0["functions"].as_array().expect("functions");
            let of = functions.iter().find(|f| f["name"] == name).and_then(|f| f["latency_percent"].as_f64());
            of.unwrap_or_else(|| panic!("{how}: no {name}"))
        };
        // All of the run is some thread's, but for moments in which all are being woken.
        close(latency("work") + latency("main"), 100.0, 5.0);
    }
    let even = curve("serial.c", &[], "1,16", "even {cpus}");
    assert!(even.at(16).0["serial_stage"]["percent"].as_f64().is_none_or(|percent| percent < 60.0));
}
