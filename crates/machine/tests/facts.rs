// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile holds facts of a machine: none of a workload, none that nothing reads, and no code knows which
//! profile it runs.
use corefold_machine::{Machine, builtin, load, parse};
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The profile in which most keys stand, with the line of `key` changed by `f`.
fn changed(key: &str, f: impl Fn(&str) -> String) -> String {
    let text = std::fs::read_to_string(crates().join("../machines/rome-2s-7742.toml")).unwrap();
    let of = |l: &str| l.starts_with(&format!("{key} = "));
    text.lines().map(|l| if of(l) { f(l) } else { l.to_string() } + "\n").collect()
}

fn machine(text: &str) -> Machine {
    parse("m.toml", text).unwrap_or_else(|e| panic!("{e}")).machine
}

/// What the model, the engine or the compute costs never see would be a place for a fudge factor.
#[test]
fn every_key_is_a_fact_that_the_machine_has() {
    let base = load("rome-2s-7742").unwrap();
    for fact in &base.facts {
        let key = fact.key.split_once('.').unwrap().1;
        // Half or double: parts still divide, caches keep whole sets; lines are 64 or 128 bytes.
        let half = !matches!(key, "line_bytes" | "rmw" | "l1_ways" | "smt_percent" | "width" | "pause");
        let value = if half { (fact.value / 2.0).floor().max(1.0) } else { fact.value * 2.0 };
        let text = changed(key, |l| {
            let (before, after) = l.split_once("value = ").unwrap();
            format!("{before}value = {value}{}", &after[after.find(',').unwrap()..])
        });
        if value == fact.value {
            continue;
        }
        let Ok(other) = parse("m.toml", &text) else { panic!("{key} = {value}: {:?}", parse("m.toml", &text)) };
        assert_ne!(other.machine, base.machine, "{key} is in the profile and changes nothing");
    }
}

#[test]
fn keys_of_a_workload_are_refused() {
    for key in ["think_time", "critical_section", "threads", "iterations", "contention_factor", "scale", "benchmark"] {
        for section in ["core", "latency", "system", "workload", "cache"] {
            let line = format!("\n[{section}]\n{key} = {{ value = 1, unit = \"count\", source = \"x\" }}\n");
            let base = changed("", str::to_string);
            let text = match base.find(&format!("[{section}]\n")) {
                Some(at) => {
                    let at = at + section.len() + 3;
                    format!("{}{}{}", &base[..at], line.lines().last().unwrap().to_string() + "\n", &base[at..])
                }
                None => base + &line,
            };
            let said = parse("m.toml", &text).unwrap_err().to_string();
            assert!(said.contains("unknown key"), "{section}.{key}: {said}");
        }
    }
    machine(&changed("", str::to_string));
}

#[test]
fn every_number_has_a_source_or_says_what_it_is_estimated_from() {
    for b in builtin() {
        for fact in load(b.name).unwrap().facts {
            assert!(fact.origin.words().len() > 8, "{}: {}: {:?}", b.name, fact.key, fact.origin);
        }
    }
}

/// Outside of the list of profiles, their names stand in help texts and tests only, and none is compared.
#[test]
fn no_code_asks_which_profile_it_runs() {
    let mut files = Vec::new();
    sources(&crates(), &mut files);
    assert!(files.len() > 80, "only {} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (n, line) in code.lines().enumerate() {
            let named = builtin().iter().any(|b| line.contains(b.name));
            // Samples for tests of other crates.
            let sample = ["report/src/sample.rs", "report/src/golden.rs"].iter().any(|f| file.ends_with(f));
            // It chooses machines to run on, as a user does.
            let chooses = file.to_string_lossy().contains("/case/src/");
            let listed = sample || chooses || file.ends_with("machine/src/builtin.rs");
            let help = line.trim_start().starts_with("///") || line.trim_start().starts_with("corefold machine show");
            assert!(!named || listed || help, "{}:{}: {line}", file.display(), n + 1);
            let compared = ["machine.name ==", "machine.name !=", "match machine.name", "machine.name.starts_with"];
            assert!(!compared.iter().any(|c| line.contains(c)), "{}:{}: {line}", file.display(), n + 1);
        }
    }
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "tests" && name != "snapshots" && name != "target" {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") && name != "tests.rs" {
            files.push(path);
        }
    }
}
