// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mechanisms of the engine and its model, each by a program that would show it missing.
use crate::harness::{Place, Simulation, native_with, program, program_with};
use std::path::Path;

/// A profile with other lines for some of its keys.
pub fn profile(name: &str, facts: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines").join(name).with_extension("toml");
    let mut text = std::fs::read_to_string(path).expect("a profile of ours");
    for (key, value) in facts {
        let line = text.lines().find(|l| l.starts_with(&format!("{key} = "))).expect("the key is there").to_owned();
        text = text.replace(&line, &format!("{key} = {{ {value}, estimated = \"for a test\" }}"));
    }
    text
}

#[test]
fn more_than_a_thousand_cpus_have_clocks_of_their_own() {
    const CPUS: &str = "5 1029 2053 3077 1024 0 2048 4095";
    let place = Place::new();
    let machine =
        place.file("m.toml", profile("generic-1024", &[("cores_per_socket", "value = 256, unit = \"count\"")]));
    let simulation = Simulation::of(&program("mechanisms/pinned.c")).option("--machine", &machine.to_string_lossy());
    let run = simulation.cpus("4096").args(CPUS).run();
    assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
    assert_eq!(run.printed().trim(), format!("{CPUS} turns 1600"));
}

/// A compare-and-swap that succeeds is work, whichever half it changes.
#[test]
fn a_change_of_the_high_half_is_a_change() {
    for how in ["exchange", "add", "by_assembly"] {
        let run = Simulation::of(&program("mechanisms/wide.c")).cpus("1").args(how).run();
        assert_eq!(run.printed().trim(), "tag 20000, 0 failed");
        let spin = run.report().at(1).share("spin");
        assert!(spin < 0.001, "{how}: {spin}");
    }
}

/// What other CPUs do to other lines leaves the variation of a line's transfers as it is, so two programs to compare
/// differ by what they do.
#[test]
fn one_access_more_leaves_other_lines_times_as_they_were() {
    /// Times are read in whole nanoseconds.
    const ROUNDING: u64 = 2;
    let gaps = |more: &str| -> Vec<i64> {
        let run = Simulation::of(&program("mechanisms/pairs.c")).cpus("8").args(more).run();
        assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
        let times: Vec<i64> = run.printed().split_whitespace().map(|word| word.parse().expect("a time")).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    let base = gaps("0");
    let mut lengths = base.clone();
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 10, "transfers do not vary: {lengths:?}");
    for more in ["1", "7"] {
        let other = gaps(more);
        let changed = base.iter().zip(&other).filter(|(a, b)| a.abs_diff(**b) > ROUNDING).count();
        // Where the other pair ends, a few looks of the spinning CPUs may come sooner or later.
        assert!(changed <= 6, "{more} more: {changed} of {} turns take another time", base.len());
    }
}

/// Profiling observes; it must not change what is observed.
#[test]
fn the_sampling_period_changes_no_time() {
    let cases = [("machine/phases.c", "1", ""), ("truths/seqlock.c", "8", "8")];
    for (source, cpus, args) in cases {
        let of = |period: &str| {
            let simulation = Simulation::of(&program(source)).cpus(cpus).args(args).option("--sample-period", period);
            let run = simulation.run();
            assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
            let report = run.report();
            let one = report.at(cpus.parse().expect("a number"));
            (run.printed().to_owned(), one.cycles(), one.0["time"].to_string())
        };
        let base = of("10000");
        for period in ["100", "1000000"] {
            assert_eq!(of(period), base, "{source}: a sample each {period} cycles");
        }
    }
}

/// All that a thread computes takes longer beside a busy sibling, not only its own basic blocks.
#[test]
fn a_busy_sibling_slows_down_libc_copies_and_locks() {
    // Of skylake-2s-80: CPU 40 is the sibling of CPU 0.
    let of = |other: &str| {
        let run = Simulation::of(&program("mechanisms/sibling.c")).cpus("80").args(other).run();
        assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
        let parts = run.printed().lines().filter_map(|line| line.split_once(' '));
        parts.map(|(name, ps)| (name.to_owned(), ps.parse().expect("a time"))).collect::<Vec<(String, f64)>>()
    };
    let slowed: Vec<(String, f64)> =
        of("1").into_iter().zip(of("40")).map(|((name, alone), (_, beside))| (name, beside / alone)).collect();
    assert_eq!(slowed.len(), 5);
    for (name, ratio) in &slowed {
        // Two hardware threads get 125 % of the work of one done. What a lock's atomics take is no computing.
        let least = if name == "locks" { 1.05 } else { 1.5 };
        assert!((least..=1.61).contains(ratio), "{name}: {slowed:?}");
    }
}

#[test]
fn a_woken_thread_stays_near() {
    // Of skylake-2s-80: CPUs 0 to 19 and 40 to 59 are socket 0; 20 to 39 and 60 to 79 are socket 1.
    let to = |args: &str| {
        let run = Simulation::of(&program("mechanisms/woken.c")).cpus("80").args(args).run();
        assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
        run.printed().trim().parse::<u32>().expect("a CPU")
    };
    let cores = |list: std::ops::Range<u32>| list.map(|cpu| format!(" {cpu}")).collect::<String>();
    assert_eq!(to("19"), 19, "its own is idle");
    assert_eq!(to("19 19"), 1, "an idle core of its socket: main has CPU 0");
    let sibling = to(&format!("19{}", cores(0..20)));
    assert!((40..60).contains(&sibling), "{sibling}: all cores of its socket are busy, but not all CPUs");
    let other = to(&format!("19{}{}", cores(0..20), cores(40..60)));
    assert!((20..40).contains(&other), "{other}: its whole socket is busy");
    let sibling = to(&format!("20{}", cores(20..40)));
    assert!((60..80).contains(&sibling), "{sibling}: the same of the other socket");
}

#[test]
fn thread_local_storage_may_be_larger_than_a_stack() {
    const OPTIONS: [&str; 1] = ["-DMEGABYTES=40"];
    let (source, name) = ("pthread/storage.c", "40 MB of thread-local storage");
    let (native, simulated) = (native_with(source, &OPTIONS), program_with(source, &OPTIONS));
    crate::programs::check_built(name, &native, &simulated).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// A locked operation on bytes of two lines locks the bus, and is called what it is.
#[test]
fn a_split_lock_costs_the_bus_lock_and_is_named() {
    // Of skylake-2s-80, at 2.1 GHz.
    const SPLIT_NS: f64 = 1449.0 / 2.1;
    for how in ["builtin", "assembly", "store"] {
        let of = |offset: &str| {
            let run = Simulation::of(&program("mechanisms/split.c")).cpus("4").args(&format!("{offset} {how}")).run();
            assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
            let ns = run.printed().trim().parse::<f64>().expect("a time") / 1000.0;
            let report = run.report();
            let notes = report.at(4).0["notes"].to_string();
            let kinds: Vec<String> =
                report.at(4).lines().flat_map(|line| line.sites()).map(|site| site["kind"].to_string()).collect();
            (ns, notes.contains("split lock"), kinds.contains(&"\"split lock\"".to_owned()))
        };
        // Not aligned, but within a line.
        let (within, noted, named) = of("52");
        assert!(within < 20.0 && !noted && !named, "{how}: {within} {noted} {named}");
        let (across, noted, named) = of("60");
        assert!(
            (across - within - SPLIT_NS).abs() < 0.05 * SPLIT_NS && noted && named,
            "{how}: {across} {noted} {named}"
        );
    }
}

/// While an update waits for its line, the core computes what is behind it, as many instructions as its reorder buffer
/// holds, unless they need the update's result.
#[test]
fn a_core_computes_behind_an_update_that_waits_for_its_line() {
    let turns = |threads: &str, work: &str, without: &str| -> [u64; 3] {
        let simulation =
            Simulation::of(&program("mechanisms/behind.c")).cpus(threads).args(&format!("{threads} {work}"));
        let run = if without.is_empty() { simulation } else { simulation.option("--without", without) }.run();
        assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
        let times: Vec<u64> = run.printed().split_whitespace().map(|word| word.parse().expect("a time")).collect();
        times.try_into().expect("three times")
    };
    let [alone, both, none] = [turns("1", "60", ""), turns("2", "60", ""), turns("2", "60", "overlap")];
    assert!(both[0] < alone[0] + 8 && both[2] < alone[2] + 8, "{alone:?}, then {both:?}");
    // The line of one socket comes in 40 ns.
    assert!(both[1] > alone[1] + 35 && none[0] > alone[0] + 35, "{alone:?}, then {both:?}; without: {none:?}");
    // Not all of a longer chain fits into the reorder buffer, but what does takes as long as the line.
    let [alone, both] = [turns("1", "300", ""), turns("2", "300", "")];
    assert!(both[0] < alone[0] + 8, "{alone:?}, then {both:?}");
}

/// Libraries place their threads by these files: OpenMP's runtimes, hwloc, libnuma, allocators.
#[test]
fn files_show_the_simulated_machine() {
    let run = Simulation::of(&program("mechanisms/topology.c")).cpus("80").args("23").run();
    assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
    let expected = "online 0-79\npossible 0-79\nsiblings 23,63\npackage 20-39,60-79\nsocket 1\ncore 3\n\
        last_level 20-39,60-79\nnodes 0-1\nof_node_0 0-19,40-59\ndistance 10 21\ncpu_directories 80\nnode_directories 2\n\
        cpuinfo 80\nstat 81\nallowed 1\nmemory 1\nthere 0 0\nnot_there -1 1\nother_files 0\n\
        resolved /sys/devices/system/cpu/cpu2/topology\nglobbed 80 /sys/devices/system/cpu/cpu0\nscanned 46\nthere 0\n\
        possible 0-79\nallowed 3\nset 0\nno_such_node -1\npolicy 3 3\nbound 0\nmoved 0 0\n";
    assert_eq!(run.printed(), expected);
}

/// Readers leave a lock of glibc's by a compare-and-swap that is tried again if another reader came or went meanwhile.
#[test]
fn readers_of_a_lock_take_what_their_updates_take_when_written_out() {
    let pair = |options: &[&str]| -> f64 {
        let program = program_with("mechanisms/readers.c", options);
        let run = Simulation::of(&program).option("--machine", "skx-8s-8176").cpus("29").args("28").run();
        assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
        run.printed().trim().parse().expect("a time")
    };
    let (pthreads, own) = (pair(&[]), pair(&["-DOWN"]));
    assert!(pthreads > 4000.0, "{pthreads} ns: no reader had to try again");
    assert!((0.7..1.4).contains(&(pthreads / own)), "{pthreads} ns, written out {own} ns");
}

/// Each call's update waits for the one before, on whatever path, and wherever the function was called from first: 18 cycles of the
/// locked operation, and 14 until a load has what it stored.
#[test]
fn a_function_is_costed_in_the_loop_that_calls_it_by_the_paths_that_it_takes() {
    for called in ["none", "before", "arms"] {
        let run = Simulation::of(&program("mechanisms/called.c")).cpus("1").args(called).run();
        assert_eq!(run.said.code, Some(0), "{}{}", run.said.out, run.said.err);
        let cycles: u64 = run.printed().trim().parse().expect("cycles");
        assert!((32..=36).contains(&cycles), "{called}: {cycles} cycles a call");
    }
}

/// What glibc does in them takes time, too.
#[test]
fn short_calls_of_libc_are_not_free() {
    let run = Simulation::of(&program("mechanisms/readers.c")).cpus("1").args("calls").run();
    let figures: Vec<f64> = run.printed().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // At 2.1 GHz: 17 instructions, 4 a cycle, and the way there; a system call.
    assert!((2.8..4.5).contains(&figures[0]), "pthread_getspecific: {} ns", figures[0]);
    assert!((150.0..400.0).contains(&figures[1]), "getpid: {} ns", figures[1]);
}

/// The CPUs of a run lie where `--placement` says, and the program sees that.
#[test]
fn cpus_lie_where_they_are_placed() {
    let place = Place::new();
    place.file(
        "where.c",
        "#include <stdio.h>\nint main(void) { for (int c = 0; c < 16; c++) { char p[99]; int n = -1; sprintf(p, \
         \"/sys/devices/system/cpu/cpu%d/topology/physical_package_id\", c); FILE *f = fopen(p, \"r\"); \
         if (f) { fscanf(f, \"%d\", &n); fclose(f); } printf(\"%d \", n); } puts(\"\"); return 0; }\n",
    );
    let made = place.sh("$corefold cc -O2 -g -w where.c -o where");
    assert_eq!(made.code, Some(0), "{}", made.err);
    place.file("order", "0,28 56-57");
    let run = |line: &str| place.corefold(&format!("run --machine skx-8s-8176 {line} -- ./where"));
    let first = |line: &str| {
        let said = run(line);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.err.lines().next().unwrap_or_default().trim().to_owned()
    };
    assert_eq!(first("--cpus 16"), "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
    assert_eq!(first("--cpus 16 --placement spread"), "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1");
    assert!(first("--cpus 4 --placement order").starts_with("0 1 2 2 -1 "), "{}", first("--cpus 4 --placement order"));
    for (line, words) in [
        ("--cpus 5 --placement order", "5 CPUs: skx-8s-8176 placed order has 4 (--placement)"),
        ("--placement nowhere", "nowhere: cannot read this placement"),
    ] {
        let said = run(line);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(words), "{}", said.err);
    }
}
