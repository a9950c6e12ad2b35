// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headline names the faults of accuracy/culprits, and accuses no innocent twin, wherever docs/accuracy.md says so: some
//! of `make accuracy`'s programs, which runs all.
use crate::harness::{Place, corefold, said, stress};
use serde_json::Value;
use std::path::Path;

/// One of each kind, that take seconds; in `make test` the first.
const QUICK: [&str; 5] = ["count_atomic", "routing_list", "histogram", "hash_code_locking", "request_log"];

#[test]
fn headlines_name_known_faults() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // The command fails where what was reached is missed; these were.
    let saved = std::fs::read_to_string(root.join("docs/accuracy.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    let scores = saved["culprits"].as_array().expect("scores");
    for name in QUICK {
        let score = scores.iter().find(|score| score["name"] == name).unwrap_or_else(|| panic!("no score of {name}"));
        let at = score["at"].as_array().expect("verdicts");
        let reached = at.iter().all(|at| at["missing"] == Value::Array(Vec::new()) && at["accused"].is_null());
        assert!(reached && at.len() == 2, "{score}");
    }
    for name in &QUICK[..if stress() { QUICK.len() } else { 1 }] {
        let place = Place::new();
        let mut command = place.command(corefold().with_file_name("corefold-accuracy"));
        command.arg("--root").arg(&root).arg("--corefold").arg(corefold());
        let said = said(command.args(["--suite", "culprits", "--only", name, "--keep"]));
        assert_eq!(said.code, Some(0), "{name}: {}", said.err);
        assert!(said.err.contains(&format!("1/1: {name}")), "{name} was not run: {}", said.err);
    }
}
