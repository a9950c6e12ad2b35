// SPDX-License-Identifier: MIT OR Apache-2.0
//! `make demo` says what it is there to say.
use crate::harness::{Place, Report, Simulation, corefold, program, said};
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn simulate(source: &str) -> Report {
    Simulation::of(&program(&format!("{ROOT}/demo/{source}"))).cpus("1,80").args("{cpus}").report()
}

#[test]
fn the_culprit_is_named_down_to_field_and_source_line() {
    let report = simulate("counters.c");
    assert!(report.gain(80, 1) < 8.0, "{}", report.gain(80, 1));
    assert_eq!(report.0["finding"]["cause"], "lines");
    let text = report.0["finding"]["text"].as_str().unwrap();
    for words in ["struct counter at counters.c:", "False sharing: count_request (counters.c:", "counter.delta["] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn the_fix_scales() {
    let (broken, fixed) = (simulate("counters.c"), simulate("counters_fixed.c"));
    assert!(fixed.gain(80, 1) > 40.0, "{}", fixed.gain(80, 1));
    assert!(fixed.throughput(80) > 10.0 * broken.throughput(80));
    assert!(!fixed.0["finding"]["text"].as_str().unwrap().contains("False sharing"));
}

/// The script itself, native runs and all.
#[test]
fn the_demonstration_runs() {
    // A profile that is there in place of this host's, which takes a minute to measure.
    let profile = Path::new(ROOT).join("machines/skl-i7-6700hq.toml");
    let demo = said(Place::new().command(Path::new(ROOT).join("demo/run.sh")).arg(corefold()).arg(profile));
    assert_eq!((demo.code, demo.err.as_str()), (Some(0), ""), "{}", demo.out);
    for part in ["FALSE SHARING", "+\tchar rest_of_the_line[60];", "native, this host", "million blocks/s"] {
        assert!(demo.out.contains(part), "{part:?} is not in {}", demo.out);
    }
    let rows = demo.out.split("ratio\n").nth(1).expect("the comparison").lines().take_while(|l| !l.is_empty());
    let numbers: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    assert!(numbers.first().is_some_and(|row| row[0] == "1"), "{}", demo.out);
    for row in numbers {
        assert_eq!(row.len(), 7);
        assert!(row[4].parse::<f64>().is_ok_and(|rate| rate > 1.0), "{row:?}");
    }
    let kinds = demo.out.split("16 CPUs\n").nth(1).expect("the counters").lines().take(5);
    for kind in kinds.map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        assert!(kind.len() == 5 && kind[1..].iter().all(|rate| rate.parse::<f64>().is_ok_and(|r| r > 0.0)), "{kind:?}");
    }
}

/// The README's example is what the demonstration prints, but for what is measured on a host. The figures depend on the
/// code that the compiler makes.
#[test]
fn the_example_of_the_readme_is_true() {
    let version = said(Place::new().command("gcc").arg("-dumpversion")).out;
    if version.trim() != "12" {
        println!("SKIPPED: the example of README.md is that of gcc 12, and this is gcc {version}");
        return;
    }
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).expect("the README");
    let example = readme.split("$ make demo\n").nth(1).expect("the example").split("```").next().expect("its end");
    let simulated = example.split("\n4. ").next().expect("the part that is simulated");
    let profile = Path::new(ROOT).join("machines/skl-i7-6700hq.toml");
    let demo = said(Place::new().command(Path::new(ROOT).join("demo/run.sh")).arg(corefold()).arg(profile)).out;
    let printed: Vec<&str> = demo.lines().map(str::trim).collect();
    let lines: Vec<&str> = simulated.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "…").collect();
    assert!(lines.len() > 25, "{simulated}");
    for line in lines {
        assert!(printed.contains(&line), "{line:?} is in README.md and not in what the demonstration prints:\n{demo}");
    }
}
