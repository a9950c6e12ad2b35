// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the file calls that commute share no cache line: kit/tests/conflict_free.
use crate::harness::{Place, native_with, said, stress};
use crate::name_cache::{SCALED, TWIN, cache_program, kit};
use std::process::Command;

/// All rows but those of POSIX's lowest descriptor.
#[derive(Default)]
struct Share {
    tests: u64,
    conflicts: u64,
}

impl Share {
    fn percent(&self) -> f64 {
        100.0 * (self.tests - self.conflicts) as f64 / self.tests as f64
    }
}

const MODEL: [&str; 7] =
    ["call", "model", "model_attributes", "model_files", "model_names", "model_open", "model_walk"];

fn options(sources: &[&str]) -> Vec<String> {
    let own = sources.iter().map(|name| kit(&format!("tests/conflict_free/{name}.c")));
    let model = MODEL.iter().map(|name| kit(&format!("tests/vfs/model/{name}.c")));
    own.chain(model).chain(["-I".to_owned(), kit("include"), "-D_GNU_SOURCE".to_owned()]).collect()
}

fn borrowed(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

/// A line for each pair: of one candidate of `every`, whether it commutes, and then with which results.
fn plan(every: u32) -> String {
    let candidates =
        native_with(&kit("tests/conflict_free/candidates.c"), &borrowed(&options(&["plan", "world", "commute"])));
    let plan = said(Command::new(candidates).arg(every.to_string()));
    assert_eq!(plan.code, Some(0), "{}", plan.err);
    plan.out
}

/// Runs a plan of one candidate of `every` under a locking policy. `None` without liburcu's source.
fn share(policy: u32, plan: &str, every: u32) -> Option<Share> {
    let mut sources = options(&["run", "trace", "plan", "world"]);
    sources.push(kit("tests/vfs/model/ours.c"));
    let program = cache_program("tests/conflict_free/main.c", policy, &borrowed(&sources))?;
    let place = Place::new();
    let mut share = Share::default();
    // In parts when there are many: memory that was aligned is not used again in the lab.
    let pairs: Vec<&str> = plan.lines().collect();
    for part in pairs.chunks(if every > 10 { pairs.len() } else { 7 }) {
        std::fs::write(place.path("plan"), part.join("\n") + "\n").unwrap();
        let ran = place.corefold(&format!("run --cpus 4 -- {} plan", program.display()));
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        for line in ran.err.lines().filter(|line| line.starts_with("pair\t") && !line.contains("lowest")) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [conflicts, tests] = [3, 4].map(|field| fields[field].parse::<u64>().expect("a number"));
            share.tests += tests;
            share.conflicts += conflicts;
        }
    }
    Some(share)
}

/// The scaled form seldom conflicts; the unscaled one does often enough that the tests are not too easy.
#[test]
fn commuting_calls_share_no_line() {
    let every = if stress() { 7 } else { 1009 };
    let chosen = plan(every);
    let (Some(scaled), Some(twin)) = (share(SCALED, &chosen, every), share(TWIN, &chosen, every)) else { return };
    assert_eq!(scaled.tests, twin.tests);
    if stress() {
        let fewest = plan(1).lines().map(|pair| pair.matches(':').count()).min();
        assert!(scaled.tests >= 10_000 && fewest >= Some(50), "{} tests, {fewest:?} of a pair's", scaled.tests);
    }
    assert!(scaled.percent() >= LEAST, "{} % of {}", scaled.percent(), scaled.tests);
    assert!((55.0..=80.0).contains(&twin.percent()), "{} % of {}", twin.percent(), twin.tests);
}

/// What sv6 reaches, too: docs/conflict-free.md says which conflicts are left, and why.
const LEAST: f64 = 99.0;
