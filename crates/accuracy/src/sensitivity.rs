// SPDX-License-Identifier: MIT OR Apache-2.0
//! By how much results move when an estimated number of a profile is wrong: each is made smaller and larger, and a few
//! programs are simulated again. `corefold machine show --sensitivity` prints what is saved.
use crate::bench::{Bench, On, Program};
use crate::progress::Progress;
use crate::side_by_side::side_by_side;
use crate::statistics::factor;
use anyhow::{Context, Result};
use corefold_machine::{Builtin, Effect, Machine, Moves, Origin, Profile, WRONG_BY, builtin, load, place};
use std::collections::BTreeMap;
use std::path::Path;

/// Of `accuracy/native`: private, shared, contended, blocking, and streaming.
const PROGRAMS: [&str; 6] =
    ["pointer_chase", "atomic_counter", "ttas_lock", "mutex", "false_sharing_stores", "streaming_sum"];
const MICROSECONDS: u64 = 150;
/// Runs of these lengths say by how much an operation's time changes by chance, as another schedule follows.
const LONGER: [u64; 4] = [157, 163, 171, 181];
/// Cores of the first socket at most, so that it can be simulated soon; of the next socket, and of second hardware threads.
const MOST_CORES: u32 = 24;
const FURTHER: u32 = 4;

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
    let work = |known: &&Builtin| {
        let text = std::fs::read_to_string(root.join(format!("machines/{}.toml", known.name)))?;
        Ok((known.name.into(), of(bench, &load(known.name)?, &text, &programs)?))
    };
    let progress = Progress::of("sensitivity", chosen.len());
    for moves in side_by_side(progress, &chosen, |known| known.name.to_owned(), work) {
        found.extend([moves?]);
    }
    // At the end only: the command has this file in it, and what is kept is for the command as it was.
    Ok(std::fs::write(&file, serde_json::to_string_pretty(&found)? + "\n")?)
}

/// The CPUs of a run, as a file of a placement has them: cores of one socket, a few of the next, and second hardware threads of a
/// few.
fn cpus(machine: &Machine) -> (u32, String) {
    let (socket, cores) = (u32::from(machine.cores_per_socket), machine.cores());
    let first = 0..socket.min(MOST_CORES);
    let next = socket..(socket + FURTHER).min(cores);
    let second = cores..(cores + FURTHER).min(machine.cpus());
    let all: Vec<String> = first.chain(next).chain(second).map(|cpu| cpu.to_string()).collect();
    (all.len() as u32, all.join(" "))
}

fn of(bench: &Bench, profile: &Profile, text: &str, programs: &[(&str, Program)]) -> Result<BTreeMap<String, Moves>> {
    let (cpus, order) = cpus(&profile.machine);
    let name = &profile.machine.name;
    let [file, placement] = ["toml", "cpus"].map(|end| bench.file(&format!("{name}.{end}")));
    std::fs::write(&placement, order)?;
    let placement = placement.display().to_string();
    let simulate = |program: &Program, machine: &str, microseconds| {
        let on = On { machine, placement: &placement, without: None };
        bench.simulated(program, on, cpus, microseconds).map(|simulated| simulated.nanoseconds)
    };
    let percent = |time: f64, base: f64| (factor(time, base) - 1.0) * 100.0;
    // Of each program its time, and by how much that changes by chance.
    let base = programs.iter().map(|(_, program)| {
        let time = simulate(program, name, MICROSECONDS)?;
        let others = LONGER.into_iter().map(|longer| Ok(percent(simulate(program, name, longer)?, time)));
        Ok((time, others.collect::<Result<Vec<f64>>>()?.into_iter().fold(0.0, f64::max)))
    });
    let base = base.collect::<Result<Vec<(f64, f64)>>>()?;
    let mut moves = BTreeMap::new();
    for fact in profile.facts.iter().filter(|fact| matches!(fact.origin, Origin::Estimated(_))) {
        let mut effect = None;
        for value in others(fact.value, &fact.unit) {
            let Some(changed) = changed(text, &fact.key, value) else { continue };
            std::fs::write(&file, changed)?;
            let path = file.display().to_string();
            // Some make no machine, such as a number of cores that does not divide, or one without all of these CPUs.
            let Ok(mut other) = load(&path) else { continue };
            if place(&mut other.machine, &placement).is_err() {
                continue;
            }
            for ((name, program), (before, chance)) in programs.iter().zip(&base) {
                let changed = percent(simulate(program, &path, MICROSECONDS)?, *before);
                let this = Effect::of(&name.replace('_', " "), changed, *chance);
                effect = Some(effect.map_or(this.clone(), |most: Effect| most.or(this)));
            }
        }
        moves.insert(fact.key.clone(), Moves { value: fact.value, effect: effect.unwrap_or(Effect::NotTried) });
    }
    Ok(moves)
}

/// A number that is less by the share, and one that is more; of small whole ones those next to it.
fn others(value: f64, unit: &str) -> [f64; 2] {
    let by = [value * (1.0 - WRONG_BY), value * (1.0 + WRONG_BY)];
    if !matches!(unit, "count" | "bytes" | "percent") {
        return by.map(|value| (value * 1000.0).round() / 1000.0);
    }
    match by.map(f64::round) {
        [less, more] if less == value && more == value => [value - 1.0, value + 1.0],
        by => by,
    }
}

/// The profile with another value for a key; none if it has that.
fn changed(text: &str, key: &str, value: f64) -> Option<String> {
    let (section, name) = key.split_once('.')?;
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
        let other = changed(text, "cache.rmw", 12.6).unwrap();
        assert_eq!(other, text.replace("[cache]\nrmw = { value = 18", "[cache]\nrmw = { value = 12.6"));
        assert_eq!(changed(text, "core.rmw", 18.0), None);
        assert_eq!(changed(text, "core.none", 1.0), None);
    }

    #[test]
    fn small_whole_numbers_are_changed_by_one() {
        assert_eq!(others(10.0, "cycles"), [7.0, 13.0]);
        assert_eq!(others(10.0, "count"), [7.0, 13.0]);
        assert_eq!([0.0, 1.0].map(|flag| others(flag, "count")), [[-1.0, 1.0], [0.0, 2.0]]);
    }

    #[test]
    fn cores_of_two_sockets_and_second_threads_run() {
        let machine = |name| load(name).unwrap().machine;
        assert_eq!(cpus(&machine("skl-i7-6700hq")), (8, "0 1 2 3 4 5 6 7".into()));
        let (count, order) = cpus(&machine("skylake-2s-80"));
        assert_eq!((count, order.ends_with("18 19 20 21 22 23 40 41 42 43")), (28, true));
    }

    #[test]
    fn each_estimate_of_each_profile_can_be_changed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for known in builtin() {
            let text = std::fs::read_to_string(root.join(format!("machines/{}.toml", known.name))).unwrap();
            for fact in load(known.name).unwrap().facts {
                let other = changed(&text, &fact.key, fact.value * 2.0 + 1.0);
                assert!(other.is_some(), "{}: {}", known.name, fact.key);
            }
        }
    }
}
