// SPDX-License-Identifier: MIT OR Apache-2.0
//! What exploring schedules found: each kind of failure once in full, with what replays it.
use crate::json::shape;
use crate::style::{Style, escaped, wrap};
use crate::text::endings;
use crate::text::screen::Screen;
use crate::{Options, units};
use corefold_explain::{Ending, Explained};
use serde::Serialize;
use std::time::Duration;

pub struct Schedules {
    pub cpus: u32,
    /// Of the plain schedule.
    pub threads: u32,
    /// The program is told the number of CPUs: more of these would make more threads.
    pub by_cpus: bool,
    /// Seeds that were run.
    pub tried: u64,
    pub failures: Vec<Failure>,
    /// Seeds whose schedule was still getting on at the end of `--timeout`.
    pub too_slow: Vec<u64>,
    /// And those at the end of the virtual time that a schedule has where `--longest` is not given.
    pub too_long: Vec<u64>,
    pub longest: Duration,
}

pub struct Failure {
    pub seed: u64,
    pub explained: Explained,
    /// The end of what the program printed.
    pub printed: String,
    /// The command that replays it.
    pub replay: String,
}

/// Seeds named of those that fail alike.
const ALIKE: usize = 8;

pub fn text(found: &Schedules, options: &Options) -> String {
    let screen = Screen { options, style: Style { color: options.color } };
    let mut out = String::new();
    for alike in kinds(&found.failures) {
        out += &failure(&screen, alike[0]);
        if alike.len() > 1 {
            out += &others(&alike[1..], options.width);
        }
        out.push('\n');
    }
    out += &unfinished(&found.too_slow, "--timeout", "");
    let (within, more) = (format!("{} s of virtual time", found.longest.as_secs_f64()), "; --longest gives more");
    out += &unfinished(&found.too_long, &within, more);
    screen.style.finish(&(out + &sum(found)))
}

/// Failures that end alike, in the order of their first.
fn kinds(failures: &[Failure]) -> Vec<Vec<&Failure>> {
    let mut kinds: Vec<(String, Vec<&Failure>)> = Vec::new();
    for failure in failures {
        let key = key(&failure.explained.ending);
        match kinds.iter_mut().find(|(known, _)| *known == key) {
            Some((_, alike)) => alike.push(failure),
            None => kinds.push((key, vec![failure])),
        }
    }
    kinds.into_iter().map(|(_, alike)| alike).collect()
}

/// The sentence without addresses and threads: words that hold a digit vary from schedule to schedule.
fn key(ending: &Ending) -> String {
    let exit = ending.summary.starts_with("exited");
    let stable = |word: &&str| exit || !word.contains(|c: char| c.is_ascii_digit());
    ending.summary.split(' ').filter(stable).collect::<Vec<_>>().join(" ")
}

fn failure(screen: &Screen, failure: &Failure) -> String {
    let ending = &failure.explained.ending;
    let head = format!("seed {}: {}", failure.seed, ending.summary);
    let mut out: String = wrap(&head, screen.options.width, 0).lines().map(|l| screen.style.alarm(l) + "\n").collect();
    out += &endings::details(screen, ending);
    if !failure.printed.is_empty() {
        out += "  it printed:\n";
        failure.printed.lines().for_each(|line| out += &format!("    {line}\n"));
    }
    out + &format!("  replay: {}\n", failure.replay)
}

fn others(alike: &[&Failure], width: usize) -> String {
    let seeds: Vec<u64> = alike.iter().map(|f| f.seed).collect();
    wrap(&format!("likewise: seed {}", some(&seeds)), width, 2)
}

/// The first seeds of a list.
fn some(seeds: &[u64]) -> String {
    let first: Vec<String> = seeds.iter().take(ALIKE).map(u64::to_string).collect();
    let more = if seeds.len() > ALIKE { format!(" and {} more", seeds.len() - ALIKE) } else { String::new() };
    first.join(", ") + &more
}

fn unfinished(seeds: &[u64], within: &str, more: &str) -> String {
    let are = match seeds {
        [] => return String::new(),
        [_] => "is",
        _ => "are",
    };
    let schedules = units::counted(seeds.len() as u64, "schedule");
    format!("{schedules} did not finish within {within} and {are} not counted as failing{more}: seed {}\n", some(seeds))
}

fn sum(found: &Schedules) -> String {
    let on = units::counted(found.cpus, "CPU");
    let narrow = match found.threads > found.cpus && !found.by_cpus {
        true => format!(
            "The program has {} threads on {on}: with --cpus {} all of them can run at once.\n",
            found.threads, found.threads
        ),
        false => String::new(),
    };
    match found.failures.as_slice() {
        [] => format!("no failing schedule among {} on {on}\n{narrow}", found.tried),
        [one] if one.seed == 0 => "The plain schedule (seed 0) fails: no other was tried.\n".into(),
        all => {
            format!("{} of {} schedules on {on} failed; each replay is identical to the byte\n", all.len(), found.tried)
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    cpus: u32,
    threads: u32,
    tried: u64,
    failures: Vec<FailureOut<'a>>,
    unfinished: Vec<u64>,
}

#[derive(Serialize)]
struct FailureOut<'a> {
    seed: u64,
    ending: shape::Ending<'a>,
    printed: &'a str,
    replay: &'a str,
}

fn failure_out(failure: &Failure) -> FailureOut<'_> {
    let Failure { seed, explained, printed, replay } = failure;
    FailureOut { seed: *seed, ending: crate::json::ending(&explained.ending), printed, replay }
}

fn sorted(these: &[u64], those: &[u64]) -> Vec<u64> {
    let mut all = [these, those].concat();
    all.sort_unstable();
    all
}

pub fn json(found: &Schedules) -> String {
    let document = Document {
        schema: shape::SCHEMA,
        cpus: found.cpus,
        threads: found.threads,
        tried: found.tried,
        failures: found.failures.iter().map(failure_out).collect(),
        unfinished: sorted(&found.too_slow, &found.too_long),
    };
    escaped(&serde_json::to_string_pretty(&document).expect("strings, numbers and lists")) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(seed: u64, summary: &str) -> Failure {
        let ending = Ending { summary: summary.into(), ..Ending::default() };
        let explained = Explained { ending, ..Explained::default() };
        let replay = format!("corefold run --seed {seed} -- ./a");
        Failure { seed, explained, printed: String::new(), replay }
    }

    fn found(failures: Vec<Failure>) -> Schedules {
        let longest = Duration::from_millis(52);
        let (too_slow, too_long) = (Vec::new(), Vec::new());
        Schedules { cpus: 4, threads: 3, by_cpus: false, tried: 20, failures, too_slow, too_long, longest }
    }

    #[test]
    fn failures_that_end_alike_are_told_once() {
        let crash = |address| format!("crashed: SIGSEGV at address {address} in thread 2");
        let failures = vec![
            failing(3, "exited with code 1"),
            failing(5, &crash("0x10")),
            failing(7, "exited with code 1"),
            failing(9, &crash("0x20")),
            failing(11, "exited with code 2"),
        ];
        let text = text(&found(failures), &Options::default());
        let heads: Vec<&str> = text.lines().filter(|l| l.starts_with("seed ")).collect();
        assert_eq!(
            heads,
            [
                "seed 3: exited with code 1",
                "seed 5: crashed: SIGSEGV at address 0x10 in thread 2",
                "seed 11: exited with code 2"
            ]
        );
        assert!(text.contains("  likewise: seed 7\n") && text.contains("  likewise: seed 9\n"), "{text}");
        assert!(text.contains("  replay: corefold run --seed 3 -- ./a\n"), "{text}");
        assert!(text.contains("\n5 of 20 schedules on 4 CPUs failed"), "{text}");
    }

    #[test]
    fn nothing_found_is_said() {
        assert_eq!(text(&found(Vec::new()), &Options::default()), "no failing schedule among 20 on 4 CPUs\n");
        let narrow = Schedules { threads: 9, ..found(Vec::new()) };
        assert!(text(&narrow, &Options::default()).contains("--cpus 9"));
        let told = Schedules { by_cpus: true, ..narrow };
        assert!(!text(&told, &Options::default()).contains("--cpus"), "it would have more threads then");
    }

    #[test]
    fn schedules_that_did_not_finish_are_no_failures() {
        let slow = Schedules { too_slow: (1..=9).collect(), too_long: vec![12], ..found(Vec::new()) };
        let text = text(&slow, &Options::default());
        let long = "1 schedule did not finish within 0.052 s of virtual time and is not counted as failing; --longest gives more: seed 12\n";
        assert!(text.contains(long), "{text}");
        let document = json(&slow).replace([' ', '\n'], "");
        assert!(document.contains(r#""unfinished":[1,2,3,4,5,6,7,8,9,12]"#), "{document}");
        let said = "9 schedules did not finish within --timeout and are not counted as failing: seed 1, 2, 3, 4, 5, 6, 7, 8 and 1 more\n";
        assert!(text.starts_with(said) && text.contains("no failing schedule among 20"), "{text}");
    }
}
