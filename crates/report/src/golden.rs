// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole reports against reviewed files, in `snapshots/`: `cargo insta review` shows what changed.
use crate::{Options, Work, json, sample, text};

fn plain() -> Options {
    Options { accuracy: sample::known_errors(), ..Options::default() }
}

#[test]
fn false_sharing() {
    insta::assert_snapshot!(text(&sample::false_sharing(), &plain()));
}

#[test]
fn creating_threads() {
    insta::assert_snapshot!(text(&sample::creating(), &plain()));
}

#[test]
fn one_lock() {
    insta::assert_snapshot!(text(&sample::one_lock(), &plain()));
}

#[test]
fn scaling() {
    insta::assert_snapshot!(text(&sample::scaling(), &plain()));
}

#[test]
fn failing() {
    insta::assert_snapshot!(text(&sample::failing(), &plain()));
}

#[test]
fn single_run() {
    let run = sample::false_sharing().pop().expect("a curve has runs");
    insta::assert_snapshot!(text(&[run], &plain()));
}

#[test]
fn narrow_and_ascii() {
    let options = Options { width: 80, ascii: true, work: Work::PerCpu, ..plain() };
    let report = text(&sample::one_lock(), &options);
    assert!(report.lines().all(|l| l.chars().count() <= 80), "{report}");
    insta::assert_snapshot!(report);
}

#[test]
fn color_changes_nothing_but_color() {
    let colored = text(&sample::false_sharing(), &Options { color: true, ..plain() });
    assert!(colored.contains("\x1b[1;31mFALSE SHARING\x1b[0m"));
    let bare: String = colored
        .split('\x1b')
        .enumerate()
        .map(|(i, s)| if i == 0 { s } else { &s[s.find('m').unwrap() + 1..] })
        .collect();
    assert_eq!(bare, text(&sample::false_sharing(), &plain()));
}

#[test]
fn no_run_at_all() {
    assert_eq!(text(&[], &plain()), "the recording holds no run\n");
    let document: serde_json::Value = serde_json::from_str(&json(&[], &plain())).unwrap();
    assert_eq!(document["runs"], serde_json::json!([]));
}

#[test]
fn json_of_a_lock() {
    let mut runs = sample::one_lock();
    runs.drain(1..3);
    insta::assert_snapshot!(json(&runs, &plain()));
}

#[test]
fn json_has_the_keys_that_were_promised() {
    let document: serde_json::Value = serde_json::from_str(&json(&sample::false_sharing(), &plain())).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["machine"], "skylake-2s-80");
    let run = &document["runs"][6];
    assert_eq!(run["cpus"], 80);
    assert_eq!(run["throughput"].as_f64().map(f64::round), Some(153_846_154.0));
    let stall = run["time"]["stall"].as_f64().unwrap();
    let share: f64 = run["lines"].as_array().unwrap().iter().map(|l| l["stall_percent"].as_f64().unwrap()).sum();
    assert!((share - 685_000_000.0 / stall * 100.0).abs() < 1e-6, "{share}");
    assert_eq!(run["lines"][0]["fields"][1], "pcc.counters[1].delta");
    assert_eq!(run["lines"][0]["sites"][0]["kind"], "atomic rmw");
    let failed: serde_json::Value = serde_json::from_str(&json(&sample::failing(), &plain())).unwrap();
    let run = &failed["runs"][1];
    assert!(run["speedup"].is_null() && run["throughput"].is_null() && run["finished"] == false);
    assert_eq!(run["ending"]["stacks"][0]["frames"][0]["line"], 33);
}
