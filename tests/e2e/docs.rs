// SPDX-License-Identifier: MIT OR Apache-2.0
//! The documentation says what is so.
use crate::harness::{Place, Simulation, program};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn exit_codes_are_those_of_the_help() {
    let (help, page) = (Place::new().corefold("run --help").out, text("docs/running.md"));
    let codes = help.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let codes: Vec<_> = codes.filter(|(code, _)| code.parse::<u8>().is_ok()).collect();
    assert!(codes.len() >= 9, "{help}");
    for (code, meaning) in codes {
        assert!(page.contains(&format!("| {code} | {meaning} |")), "{code}: {meaning}");
    }
}

/// All keys of a document, but for those that name classes of transfers, and system calls.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.insert(key.clone());
                if key != "transfers_by_class" && key != "calls" {
                    keys(value, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_document_is_described() {
    let report = Simulation::of(&program("truths/tas.c")).cpus("1,2,8").args("{cpus} 8000").report();
    let mut found = BTreeSet::new();
    keys(&report.0, &mut found);
    let lost = Simulation::of(&program("host/mappings.c")).cpus("1").args("{cpus} 1500").report();
    assert!(lost.0["host"].is_object());
    keys(&lost.0, &mut found);
    let page = text("docs/output.md");
    let unknown: Vec<_> = found.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert!(found.len() > 50 && unknown.is_empty(), "{unknown:?}");
}

/// Files and folders that the documents name are there.
#[test]
fn paths_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for page in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/model.md",
        "docs/running.md",
        "docs/rust.md",
        "docs/limits.md",
        "docs/layout.md",
        "docs/lmdb.md",
        "docs/leveldb.md",
        "docs/xz.md",
    ] {
        let page = text(page);
        let words = page.split(|c: char| !(c.is_alphanumeric() || "/._-".contains(c)));
        let ours = ["crates/", "docs/", "machines/", "tests/", "demo/", "scripts/", "bench/"];
        for path in words.filter(|word| ours.iter().any(|folder| word.starts_with(folder))) {
            assert!(root.join(path.trim_end_matches('.')).exists(), "{path}");
        }
    }
}
