// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the standards say of threads, sentence by sentence: so natively, and so in a simulation. The table
//! in docs/conformance.md is held against it.
use crate::harness::{Place, Simulation, native_with, program_with, programs, said};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

const TABLE: &str = "| interface | sentences | natively | simulated |\n| --- | --- | --- | --- |\n";

fn options(source: &str) -> &'static [&'static str] {
    if source.ends_with(".cpp") { &["-std=c++20"] } else { &[] }
}

/// What a program says, natively; an error if it says another thing when simulated, or "NO" to anything.
fn check(source: &str) -> Result<String, String> {
    let own = said(&mut Place::new().command(native_with(source, options(source))));
    if own.code != Some(0) || own.out.lines().any(|line| !line.ends_with(": ok")) {
        return Err(format!("{source} natively ({:?}):\n{}{}", own.code, own.out, own.err));
    }
    let program = program_with(source, options(source));
    for cpus in ["1", "8"] {
        let simulated = Simulation::of(&program).cpus(cpus).run();
        if simulated.printed() != own.out {
            let report = &simulated.said.out;
            return Err(format!("{source} at {cpus} CPUs:\n{}\nand not\n{}\n{report}", simulated.printed(), own.out));
        }
    }
    Ok(own.out)
}

/// A line for each interface, in the order of names.
fn table(sentences: &str) -> String {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for (interface, _) in sentences.lines().filter_map(|line| line.split_once(": ")) {
        *counts.entry(interface).or_default() += 1;
    }
    let rows = counts.iter().map(|(interface, count)| format!("| `{interface}` | {count} | ok | ok |\n"));
    TABLE.chars().chain(rows.collect::<String>().chars()).collect()
}

#[test]
fn threads_conform_and_the_table_says_so() {
    let sources = programs("conformance");
    let left = Mutex::new(sources.into_iter());
    let results = Mutex::new((String::new(), Vec::new()));
    let work = || {
        let next = || left.lock().unwrap().next();
        while let Some(source) = next() {
            let result = check(&source);
            let mut results = results.lock().unwrap();
            match result {
                Ok(sentences) => results.0.push_str(&sentences),
                Err(error) => results.1.push(error),
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let (sentences, wrong) = results.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} programs fail:\n{}", wrong.len(), wrong.join("\n"));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = table(&sentences);
    assert!(page.contains(&table), "the table in docs/conformance.md is to be:\n{table}");
}
