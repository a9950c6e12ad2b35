// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mechanisms of the engine and its model, each by a program that would show it missing.
use crate::harness::{Place, Simulation, program};
use std::path::Path;

/// A profile with other lines for some of its keys.
fn profile(name: &str, facts: &[(&str, &str)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines").join(name).with_extension("toml");
    let mut text = std::fs::read_to_string(path).expect("a profile of ours");
    for (key, value) in facts {
        let line = text.lines().find(|l| l.starts_with(&format!("{key} = "))).expect("the key is there").to_owned();
        text = text.replace(&line, &format!("{key} = {{ {value}, estimated = \"for a test\" }}"));
    }
    text
}

#[test]
fn more_than_a_thousand_cpus_are_told_apart() {
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
