// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long spins are not simulated look by look; a program must not be able to tell.
use crate::harness::{Compiler, Program, Simulation, program, program_with};
use std::time::Duration;

/// What `spins THREADS STEPS` prints: how late a flag was seen, and how often one looked that gives up.
#[track_caller]
fn spins(cpus: &str, args: &str) -> (u64, u64) {
    spins_of(&program("truths/spins.c"), cpus, args)
}

#[track_caller]
fn spins_of(program: &Program, cpus: &str, args: &str) -> (u64, u64) {
    // Look by look, this would take the host minutes.
    let run = Simulation::of(program).cpus(cpus).args(args).timeout(Duration::from_secs(60)).run();
    assert_eq!(run.said.code, Some(0), "{}", run.said.err);
    let words: Vec<&str> = run.printed().split_whitespace().collect();
    let number = |at: usize| words[at].parse().unwrap_or_else(|_| panic!("{words:?}"));
    (number(1), number(3))
}

#[test]
fn spinning_threads_see_the_end_at_once_however_long_they_spun() {
    let (after_long, _) = spins("80", "70 20000000");
    let (after_short, _) = spins("80", "70 200000");
    assert!(after_long < 2000 && after_long <= after_short + 100, "{after_long} ns, {after_short} ns");
}

#[test]
fn a_spin_that_counts_its_iterations_is_simulated() {
    let (_, looks) = spins("8", "4 2000000");
    assert_eq!(looks, 200_000);
}

#[test]
fn more_spinning_threads_than_cpus_cost_the_host_little() {
    let (late, _) = spins("80", "160 20000000");
    // A thread whose CPU another spins on has to wait for its slice.
    assert!(late < 4_000_000, "{late} ns");
}

#[test]
fn a_flag_that_is_not_aligned_is_waited_for_as_well() {
    let (late, _) = spins_of(&program_with("truths/spins.c", &["-DUNALIGNED"]), "80", "70 20000000");
    assert!(late < 2000, "{late} ns");
}

/// Frames have words that nobody writes: what the runtime has left there is no part of the thread's state.
#[test]
fn a_loop_that_calls_a_function_is_skipped_as_well() {
    for compiler in Compiler::installed() {
        let program = compiler.program("truths/spins.c", &["-DCALLS"]);
        for (cpus, args) in [("1", "3 2000000"), ("80", "70 20000000")] {
            let (late, _) = spins_of(&program, cpus, args);
            assert!(late < 20_000_000, "{compiler:?}: {late} ns");
        }
    }
}

/// Such as a queue's head and tail, and whatever the queue's functions read beside them.
#[test]
fn a_loop_that_reads_many_words_of_its_own_is_skipped_as_well() {
    let (late, _) = spins_of(&program_with("truths/spins.c", &["-DREADS"]), "1", "7 40000000");
    assert!(late < 100_000_000, "{late} ns");
}

/// Such as the expected value of a compare-and-swap.
#[test]
fn a_loop_that_stores_to_its_own_stack_spins_and_is_skipped() {
    for compiler in Compiler::installed() {
        let program = compiler.program("truths/spins.c", &["-DSTORES"]);
        let report = Simulation::of(&program).cpus("1").args("7 4000000").report();
        let compute = report.at(1).share("compute");
        assert!(compute < 0.1, "{compiler:?}: {compute}");
        let (late, counted) = spins_of(&program, "1", "7 200000000");
        assert!(late < 100_000_000 && counted == 200_000, "{compiler:?}: {late} ns, {counted}");
    }
}

/// Which may lie on the thread's stack, too, but is none of its words that are compared.
#[test]
fn a_loop_that_counts_in_a_thread_local_variable_works() {
    let report = Simulation::of(&program_with("truths/spins.c", &["-DCOUNTS"])).cpus("1").args("7 1000000").report();
    let (spin, compute) = (report.at(1).share("spin"), report.at(1).share("compute"));
    assert!(spin < 0.02 && compute > 0.1, "spin {spin}, compute {compute}");
}

/// Beside a busy sibling, a system call takes longer than a few pauses: yielding is waiting all the same, and no computing.
#[test]
fn a_waiter_that_yields_spins() {
    let program = program_with("truths/spins.c", &["-DYIELDS"]);
    let report = Simulation::of(&program).option("--machine", "xeon-4s-80").cpus("80").args("70 2000000").report();
    let spin = report.at(80).share("spin");
    assert!(spin > 0.9, "{spin}");
}

/// Whoever finds a lock taken and then pauses, or computes, for longer and longer waits.
#[test]
fn a_waiter_that_backs_off_spins() {
    for how in ["backoff", "chance", "proportional", "reads", "attempts"] {
        let report = Simulation::of(&program("truths/spun_locks.c")).cpus("16").args(&format!("16 {how}")).report();
        let (spin, compute) = (report.at(16).share("spin"), report.at(16).share("compute"));
        assert!(spin > 0.65 && compute < 0.2, "{how}: spin {spin}, compute {compute}");
    }
}

/// Readers of a seqlock look at what it protects, too, but it is the sequence number that they wait for. And
/// no cycle counts twice, however many words a loop looks at.
#[test]
fn a_spin_is_charged_to_the_word_whose_change_ends_it() {
    let report = Simulation::of(&program("truths/seqlock.c")).cpus("8").args("{cpus}").report();
    let run = report.at(8);
    let locks = run.0["locks"].as_array().expect("locks");
    let waits = |name: &str| {
        let named = locks.iter().filter(|lock| lock["name"] == name);
        named.filter_map(|lock| lock["wait_cycles"].as_u64()).sum::<u64>()
    };
    assert!(waits("sequence") > 5 * (waits("first") + waits("second")) && waits("sequence") > 0, "{locks:?}");
    let time = &run.0["time"];
    let cycles = |part: &str| time[part].as_u64().unwrap_or_else(|| panic!("{time}"));
    let all = cycles("compute") + cycles("stall") + cycles("spin") + cycles("block");
    let most = run.0["cycles"].as_u64().expect("cycles") * 9;
    assert!(cycles("spin") > 0 && all <= most, "{time}, {most}");
}

/// A loop may also read words that no hook sees change: on lines of the thread's own, and on such as many read.
#[test]
fn what_a_spin_reads_beside_its_word_ends_it_at_once() {
    let run = Simulation::of(&program("truths/mailbox.c")).cpus("8").run();
    assert_eq!(run.said.code, Some(0), "{}", run.said.err);
    assert_eq!(run.printed().lines().count(), 3);
    for line in run.printed().lines() {
        let late: i64 = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number");
        assert!(late < 1000, "{line}");
    }
}

/// A loop that looks at two words spins wherever in the code its loads are.
#[test]
fn two_words_are_spun_on_wherever_their_loads_are() {
    for function in 0..16 {
        let args = format!("8 {function}");
        let report = Simulation::of(&program("truths/two_words.c")).cpus("8").args(&args).report();
        let spin = report.at(8).share("spin");
        assert!(spin > 0.3, "function {function}: {spin}");
    }
}
