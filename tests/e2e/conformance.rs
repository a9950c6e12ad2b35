// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the standards say of threads and signals, sentence by sentence: so natively, and so in a simulation.
//! The tables in docs/conformance.md are held against it, and so is the public list of assertions, of which
//! none may be neither covered nor left out for a reason.
use crate::harness::{Place, Simulation, native_with, program_with, programs, said};
use crate::programs::AT_ONCE;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

/// The numbers of the Open POSIX Test Suite's assertions, and why some are left out.
const LIST: &str = include_str!("../programs/conformance/open-posix.txt");
const LISTED: &str =
    "| interface | assertions | covered | not covered | sentences |\n| --- | --- | --- | --- | --- |\n";
const OTHERS: &str = "| interface | sentences |\n| --- | --- |\n";

/// What the programs say of an interface: how many sentences, and which assertions of the list they cover.
#[derive(Default)]
struct Covered {
    sentences: u32,
    numbers: BTreeSet<u32>,
}

fn options(source: &str) -> &'static [&'static str] {
    if source.ends_with(".cpp") { &["-std=c++20"] } else { &[] }
}

/// What a program says, natively; an error if it says another thing when simulated, or "NO" to anything.
fn check(source: &str) -> Result<String, String> {
    let own = said(&mut Place::new().command(native_with(source, &[options(source), AT_ONCE].concat())));
    if own.code != Some(0) || own.out.lines().any(|line| !line.ends_with(": ok")) {
        return Err(format!("{source} natively ({:?}):\n{}{}", own.code, own.out, own.err));
    }
    let program = program_with(source, options(source));
    let simulated = Simulation::of(&program).cpus("1,8").option("--jobs", "1").without_json().run();
    match simulated.printed_at_each() {
        Some(printed) if printed == own.out && simulated.said.code == Some(0) => Ok(own.out),
        _ => Err(format!("{source}:\n{}\nand not\n{}\n{}", simulated.said.err, own.out, simulated.said.out)),
    }
}

/// Runs all programs, two at a time; returns what they say.
fn sentences() -> String {
    let left = Mutex::new(programs("conformance").into_iter());
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
    sentences
}

/// The numbers that `1,4-6` stands for.
fn numbers(ranges: &str) -> BTreeSet<u32> {
    let number = |text: &str| text.parse::<u32>().unwrap_or_else(|_| panic!("{ranges}: no numbers"));
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(part)..=number(part),
    };
    ranges.split(',').flat_map(range).collect()
}

/// What each line's head names, like `sem_wait 1,9 sem_open 8`: interfaces, each with its numbers, if any.
fn coverage(sentences: &str) -> BTreeMap<String, Covered> {
    let mut covered: BTreeMap<String, Covered> = BTreeMap::new();
    for (head, _) in sentences.lines().filter_map(|line| line.split_once(": ")) {
        let mut interface = "";
        for word in head.split(' ') {
            if word.starts_with(|c: char| c.is_ascii_digit()) {
                covered.get_mut(interface).expect("an interface before numbers").numbers.extend(numbers(word));
            } else {
                interface = word;
                covered.entry(word.into()).or_default().sentences += 1;
            }
        }
    }
    covered
}

/// The row of a line of the list, like `raise 1-7; option 4`. Each assertion is covered or left out, not both.
fn row(line: &str, covered: &mut BTreeMap<String, Covered>) -> String {
    let mut parts = line.split("; ").map(|part| part.split_once(' ').expect("a name and numbers"));
    let (interface, all) = parts.next().unwrap();
    let reasons: Vec<(&str, &str)> = parts.collect();
    let all = numbers(all);
    let out: BTreeSet<u32> = reasons.iter().flat_map(|(_, ranges)| numbers(ranges)).collect();
    let found = covered.remove(interface).unwrap_or_default();
    let both: BTreeSet<u32> = found.numbers.union(&out).copied().collect();
    assert!(both == all, "{interface}: the list has {all:?}, covered are {:?}, left out {out:?}", found.numbers);
    assert!(found.numbers.is_disjoint(&out), "{interface}: of {out:?}, left out, some are covered");
    let reasons: Vec<String> = reasons.iter().map(|(why, ranges)| format!("{ranges} ({why})")).collect();
    let (listed, reached) = (all.len(), found.numbers.len());
    format!("| `{interface}` | {listed} | {reached} | {} | {} |\n", reasons.join(", "), found.sentences)
}

#[test]
fn threads_conform_and_the_tables_say_so() {
    let mut covered = coverage(&sentences());
    let rows: String = LIST.lines().filter(|line| !line.starts_with('#')).map(|line| row(line, &mut covered)).collect();
    let others = covered.iter().map(|(interface, found)| {
        assert!(found.numbers.is_empty(), "{interface} is not in the list, but has numbers");
        format!("| `{interface}` | {} |\n", found.sentences)
    });
    let others: String = others.collect();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md");
    let page = std::fs::read_to_string(page).unwrap();
    for table in [format!("{LISTED}{rows}"), format!("{OTHERS}{others}")] {
        assert!(page.contains(&table), "docs/conformance.md is to have the table:\n{table}");
    }
}
