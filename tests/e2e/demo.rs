// SPDX-License-Identifier: MIT OR Apache-2.0
//! `make demo` says what it is there to say.
use crate::harness::{Place, Report, Said, Simulation, corefold, program, said, tell};
use std::path::Path;
use std::sync::OnceLock;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn simulate(source: &str) -> Report {
    Simulation::of(&program(&format!("{ROOT}/demo/{source}"))).cpus("1,80").args("{cpus}").report()
}

#[test]
fn the_culprit_is_named_down_to_field_and_source_line_and_the_fix_scales() {
    let (broken, fixed) = (simulate("counters.c"), simulate("counters_fixed.c"));
    assert!(broken.gain(80, 1) < 8.0, "{}", broken.gain(80, 1));
    assert_eq!(broken.0["finding"]["cause"], "lines");
    let text = broken.0["finding"]["text"].as_str().unwrap();
    for words in ["struct counter at counters.c:", "False sharing: count_request (counters.c:", "counter.delta["] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    assert!(fixed.gain(80, 1) > 40.0, "{}", fixed.gain(80, 1));
    assert!(fixed.throughput(80) > 10.0 * broken.throughput(80));
    assert!(!fixed.0["finding"]["text"].as_str().unwrap().contains("False sharing"));
}

/// What the script says, native runs and all; it is run once for all tests.
fn demonstration() -> &'static Said {
    static SAID: OnceLock<Said> = OnceLock::new();
    SAID.get_or_init(|| {
        // A profile that is there in place of this host's, which takes a minute to measure.
        let profile = Path::new(ROOT).join("machines/skl-i7-6700hq.toml");
        said(Place::new().command(Path::new(ROOT).join("demo/run.sh")).arg(corefold()).arg(profile))
    })
}

#[test]
fn the_demonstration_runs() {
    let demo = demonstration();
    assert_eq!((demo.code, demo.err.as_str()), (Some(0), ""), "{}", demo.out);
    for part in ["FALSE SHARING", "+\tchar rest_of_the_line[60];", "native, this host", "million blocks/s"] {
        assert!(demo.out.contains(part), "{part:?} is not in {}", demo.out);
    }
    let rows = demo.out.split("ratio\n").nth(1).expect("the comparison").lines().take_while(|l| !l.is_empty());
    let numbers: Vec<Vec<&str>> = rows.map(|row| row.split_whitespace().collect()).collect();
    // As the script counts them: other counts go by the quota of a container as well.
    let cores: usize = said(&mut Place::new().command("nproc")).out.trim().parse().expect("a number");
    let counts: Vec<String> = [1, 2, 4, 8, 16].iter().filter(|n| **n <= cores).map(|n| n.to_string()).collect();
    assert_eq!(numbers.iter().map(|row| row[0]).collect::<Vec<_>>(), counts);
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
        return tell(&format!("SKIPPED: the example of README.md is that of gcc 12, and this is gcc {version}"));
    }
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).expect("the README");
    let example = readme.split("$ make demo\n").nth(1).expect("the example").split("```").next().expect("its end");
    let simulated = example.split("\n4. ").next().expect("the part that is simulated");
    let demo = &demonstration().out;
    let printed: Vec<&str> = demo.lines().map(str::trim).collect();
    let lines: Vec<&str> = simulated.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "…").collect();
    assert!(lines.len() > 25, "{simulated}");
    for line in lines {
        assert!(printed.contains(&line), "{line:?} is in README.md and not in what the demonstration prints:\n{demo}");
    }
}
