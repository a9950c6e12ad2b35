// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of CPU counts: `1,2,4,8-80:8`.
use crate::exit::bad_input;
use anyhow::Result;
use corefold_machine::{MOST_CPUS, Machine, larger_than};

/// The counts that a list names, sorted, each once: numbers and ranges with an optional step.
pub fn parse(list: &str) -> Result<Vec<u32>> {
    let mut counts = Vec::new();
    for part in list.split(',') {
        counts.extend(one(part.trim()).map_err(|wrong| bad_input!("--cpus {list}: {part:?} {wrong}"))?);
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

/// A word in braces in a program's argument that looks like a mistaken `{cpus}`.
pub fn near_placeholder(argument: &str) -> Option<String> {
    let in_braces = argument.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let word = |w: &&str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    in_braces.filter(|w| *w != "cpus").find(word).map(|w| format!("{{{w}}}"))
}

/// The error says what is wrong with the part, and follows it.
fn one(part: &str) -> Result<Vec<u32>, String> {
    let (range, step) = match part.split_once(':') {
        Some((range, step)) => (range, number(step)?),
        None => (part, 1),
    };
    let Some((first, last)) = range.split_once('-') else {
        return if part.contains(':') { Err(MALFORMED.into()) } else { Ok(vec![number(range)?]) };
    };
    match (number(first)?, number(last)?) {
        (first, last) if first > last => Err(format!("ends before it begins: write {last}-{first}")),
        (_, last) if last > MOST_CPUS => Err(format!("goes beyond {MOST_CPUS} CPUs, the most that can be simulated")),
        _ if step == 0 => Err("has a step of 0: a step must be at least 1".into()),
        (first, last) => Ok((first..=last).step_by(step as usize).collect()),
    }
}

const MALFORMED: &str = "is neither a number nor a range like 8-80 or 8-80:8";

/// Digits only: `u32::from_str` would take a sign.
fn number(digits: &str) -> Result<u32, String> {
    let number = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
    number.ok_or_else(|| MALFORMED.into())
}

/// Powers of two, and where the machine has an edge: a full socket, every core, every thread.
pub fn default(machine: &Machine) -> Vec<u32> {
    let all = machine.placed();
    let mut counts: Vec<u32> = (0..).map(|n| 1 << n).take_while(|&n| n <= all).collect();
    counts.extend([u32::from(machine.cores_per_socket), machine.cores()].into_iter().filter(|&n| n <= all));
    counts.push(all);
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Refuses counts that the machine does not have, and names one that does.
pub fn check(counts: &[u32], machine: &Machine) -> Result<()> {
    if counts.contains(&0) {
        return Err(bad_input!("0 CPUs: a run needs at least 1"));
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    if most <= machine.placed() {
        return Ok(());
    }
    if most <= machine.cpus() {
        return Err(bad_input!("{most} CPUs: {} has {} (--placement)", machine.name, machine.placed()));
    }
    if most > MOST_CPUS {
        return Err(bad_input!("{most} CPUs: {MOST_CPUS} is the most that can be simulated"));
    }
    let way_out = match larger_than(most) {
        Some(larger) => format!("{} has {}", larger.name, larger.cpus),
        None => {
            let largest = corefold_machine::builtin().iter().max_by_key(|b| b.cpus).expect("there are profiles");
            format!("the largest machine, {}, has {}; a profile of your own can have more", largest.name, largest.cpus)
        }
    };
    Err(bad_input!("{most} CPUs: {} has {}; {way_out} (--machine)", machine.name, machine.cpus()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> Machine {
        corefold_machine::load(name).unwrap().machine
    }

    #[test]
    fn lists_are_sorted_and_deduplicated() {
        assert_eq!(parse("1").unwrap(), [1]);
        assert_eq!(parse("1,2,4,8-80:8").unwrap(), [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80]);
        assert_eq!(parse("4, 1-3,2").unwrap(), [1, 2, 3, 4]);
        assert_eq!(parse("1-10:4").unwrap(), [1, 5, 9]);
    }

    #[test]
    fn what_is_wrong_is_quoted() {
        for (list, part) in [("", ""), ("1,,2", ""), ("1,x", "x"), ("3:1", "3:1")] {
            let said = parse(list).unwrap_err().to_string();
            assert!(said.starts_with(&format!("--cpus {list}: {part:?} is neither")), "{said}");
        }
        let said = |list| parse(list).unwrap_err().to_string();
        assert_eq!(said("1,8-4"), "--cpus 1,8-4: \"8-4\" ends before it begins: write 4-8");
        assert!(said("1-80:0").starts_with("--cpus 1-80:0: \"1-80:0\" has a step of 0"));
        assert!(said("1-4097").ends_with("goes beyond 4096 CPUs, the most that can be simulated"));
        for list in ["-1", "+1", "1-", "1-4000000000", "99999999999"] {
            assert!(parse(list).is_err(), "{list}");
        }
    }

    #[test]
    fn words_in_braces_that_are_not_cpus_are_found() {
        for (argument, word) in [("{cpu}", "{cpu}"), ("-n={cpus},{CPUS}", "{CPUS}"), ("{x{threads}", "{threads}")] {
            assert_eq!(near_placeholder(argument).as_deref(), Some(word));
        }
        for argument in ["{cpus}", "{}", "{\"json\": 1}", "{a,b}", "cpu", "}{", "{cpu"] {
            assert_eq!(near_placeholder(argument), None, "{argument}");
        }
    }

    #[test]
    fn the_default_shows_the_edges() {
        assert_eq!(default(&machine("skylake-2s-80")), [1, 2, 4, 8, 16, 20, 32, 40, 64, 80]);
        assert_eq!(default(&machine("xeon-4s-80")), [1, 2, 4, 8, 10, 16, 32, 40, 64, 80]);
    }

    #[test]
    fn too_many_cpus_name_a_larger_machine() {
        let skylake = machine("skylake-2s-80");
        check(&[1, 80], &skylake).unwrap();
        let said = check(&[1, 81], &skylake).unwrap_err().to_string();
        assert_eq!(said, "81 CPUs: skylake-2s-80 has 80; clx-2s-8275cl has 96 (--machine)");
        let said = check(&[4096], &skylake).unwrap_err().to_string();
        assert!(said.contains("the largest machine, generic-1024, has 1024"), "{said}");
        let said = check(&[4097], &skylake).unwrap_err().to_string();
        assert_eq!(said, "4097 CPUs: 4096 is the most that can be simulated");
        assert_eq!(check(&[0, 1], &skylake).unwrap_err().to_string(), "0 CPUs: a run needs at least 1");
    }
}
