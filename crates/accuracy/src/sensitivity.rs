// SPDX-License-Identifier: MIT OR Apache-2.0
//! By how much results move when an estimated number of a profile is wrong: each is made smaller and larger, and a few
//! programs are simulated again. `corefold machine show --sensitivity` prints what is saved.
use crate::bench::{Bench, On, Program};
use crate::progress::Progress;
use crate::statistics::factor;
use anyhow::{Context, Result};
use corefold_machine::{Moves, Origin, Profile, WRONG_BY, builtin, load};
use std::collections::BTreeMap;
use std::path::Path;

/// Of `accuracy/native`: private, shared, contended, blocking, and streaming.
const PROGRAMS: [&str; 6] =
    ["pointer_chase", "atomic_counter", "ttas_lock", "mutex", "false_sharing_stores", "streaming_sum"];
const MICROSECONDS: u64 = 150;
/// A core of the next socket, too, if the machine is no larger than can be simulated soon.
const MOST_CPUS: u32 = 32;

/// By machine and key.
type Found = BTreeMap<String, BTreeMap<String, Moves>>;

pub fn measure(bench: &Bench, root: &Path, only: Option<&str>) -> Result<()> {
    let file = root.join("docs/sensitivity.json");
    let mut found: Found = match std::fs::read(&file) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("in {}", file.display()))?,
        Err(_) => Found::new(),
    };
    found.retain(|name, _| builtin().iter().any(|known| known.name == name));
    let build = |name| Ok((name, bench.build_simulated(&format!("native/{name}.c"), &[])?));
    let programs = PROGRAMS.map(build).into_iter().collect::<Result<Vec<_>>>()?;
    let chosen: Vec<_> = builtin().iter().filter(|known| only.is_none_or(|only| known.name.contains(only))).collect();
    let mut progress = Progress::of("sensitivity", chosen.len());
    for known in chosen {
        progress.step(known.name);
        let text = std::fs::read_to_string(root.join(format!("machines/{}.toml", known.name)))?;
        found.insert(known.name.into(), of(bench, &load(known.name)?, &text, &programs)?);
        std::fs::write(&file, serde_json::to_string_pretty(&found)? + "\n")?;
    }
    Ok(())
}

fn of(bench: &Bench, profile: &Profile, text: &str, programs: &[(&str, Program)]) -> Result<BTreeMap<String, Moves>> {
    let cpus = (u32::from(profile.machine.cores_per_socket) + 4).min(profile.machine.cpus()).min(MOST_CPUS);
    let file = bench.file("changed.toml");
    let simulate = |program: &Program, machine: &str| {
        bench.simulated(program, On::machine(machine), cpus, MICROSECONDS).map(|simulated| simulated.nanoseconds)
    };
    let base = programs.iter().map(|(_, program)| simulate(program, &profile.machine.name));
    let base = base.collect::<Result<Vec<f64>>>()?;
    let mut moves = BTreeMap::new();
    for fact in profile.facts.iter().filter(|fact| matches!(fact.origin, Origin::Estimated(_))) {
        let mut most = Moves { value: fact.value, percent: 0.0, of: String::new() };
        for by in [1.0 - WRONG_BY, 1.0 + WRONG_BY] {
            let Some(changed) = changed(text, &fact.key, &fact.unit, fact.value * by) else { continue };
            std::fs::write(&file, changed)?;
            let path = file.display().to_string();
            // Some make no machine: a number of cores that does not divide, more than a whole.
            if load(&path).is_err() {
                continue;
            }
            for ((name, program), before) in programs.iter().zip(&base) {
                let percent = (factor(simulate(program, &path)?, *before) - 1.0) * 100.0;
                if percent > most.percent {
                    (most.percent, most.of) = (percent, name.replace('_', " "));
                }
            }
        }
        moves.insert(fact.key.clone(), most);
    }
    Ok(moves)
}

/// The profile with another value for a key; none if it rounds to the same.
fn changed(text: &str, key: &str, unit: &str, value: f64) -> Option<String> {
    let (section, name) = key.split_once('.')?;
    let whole = matches!(unit, "count" | "bytes" | "percent");
    let value = if whole { value.round() } else { (value * 1000.0).round() / 1000.0 };
    let mut within = false;
    let mut found = None;
    let lines = text.lines().map(|line| {
        if let Some(head) = line.strip_prefix('[') {
            within = head.trim_end_matches(']') == section;
        }
        let rest = line.strip_prefix(name).filter(|_| within).and_then(|rest| rest.strip_prefix(" = { value = "));
        let Some((old, rest)) = rest.and_then(|rest| rest.split_once(',')) else { return line.to_owned() };
        found = old.parse::<f64>().ok();
        format!("{name} = {{ value = {value},{rest}")
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    found.filter(|old| *old != value).map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_of_a_profile_is_changed() {
        let text =
            "[core]\nrmw = { value = 18, unit = \"cycles\" }\n[cache]\nrmw = { value = 18, unit = \"cycles\" }\n";
        let changed = |key, unit, value| changed(text, key, unit, value);
        let other = changed("cache.rmw", "cycles", 12.6).unwrap();
        assert_eq!(other, text.replace("[cache]\nrmw = { value = 18", "[cache]\nrmw = { value = 12.6"));
        assert_eq!(changed("core.rmw", "count", 18.3), None);
        assert_eq!(changed("core.none", "count", 1.0), None);
    }

    #[test]
    fn each_estimate_of_each_profile_can_be_changed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for known in builtin() {
            let text = std::fs::read_to_string(root.join(format!("machines/{}.toml", known.name))).unwrap();
            for fact in load(known.name).unwrap().facts {
                let other = changed(&text, &fact.key, &fact.unit, fact.value * 2.0 + 1.0);
                assert!(other.is_some(), "{}: {}", known.name, fact.key);
            }
        }
    }
}
