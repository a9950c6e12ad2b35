// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold explore`.
use crate::cli::ExploreArgs;
use crate::screen;
use anyhow::{Context, Result};
use corefold_driver::exit;
use corefold_driver::run::Options;
use corefold_driver::run::explore::{Search, Searched, explore as search};
use corefold_driver::seeds::Seeds;
use corefold_explain::{Images, explain};
use corefold_report::schedules::{self, Failure, Schedules};
use std::path::Path;
use std::time::Duration;

/// Runs the program under each seed's schedule, and tells what failed.
pub fn explore(args: ExploreArgs) -> Result<u8> {
    let found =
        search(Search { options: options(&args)?, seeds: Seeds::parse(&args.seeds)?, stop_after: most(&args) })?;
    if let Some(signal) = found.interrupted {
        screen::note(&format!("corefold: interrupted after {} seeds", found.tried));
        if found.failures.is_empty() {
            return Ok(128 + signal as u8);
        }
    }
    let code = code(&found);
    show(&args, found)?;
    Ok(code)
}

/// A program that cannot be simulated, or not within the time, has no schedule to be blamed for that.
fn code(found: &Searched) -> u8 {
    match found.failures.as_slice() {
        [] if found.unfinished.is_empty() => exit::FINE,
        [] => exit::TIMED_OUT,
        [plain] if plain.seed == 0 => match exit::of_status(&plain.run.status) {
            code @ (exit::UNSUPPORTED | exit::TIMED_OUT) => code,
            _ => exit::FOUND,
        },
        _ => exit::FOUND,
    }
}

fn most(args: &ExploreArgs) -> usize {
    if args.keep_going { usize::MAX } else { args.stop_after.get() }
}

fn options(args: &ExploreArgs) -> Result<Options> {
    let machine = crate::machine::of(&args.limits)?;
    let (program, rest) = args.program.split_first().expect("clap wants one");
    Ok(Options {
        cpus: vec![args.cpus],
        machine,
        seed: 0,
        slack: args.limits.slack,
        sample_period: corefold_driver::run::SAMPLE_PERIOD,
        program: program.clone(),
        args: rest.to_vec(),
        timeout: args.limits.timeout.or(Some(TIMEOUT)),
        longest: args.limits.longest,
        memory_limit: args.limits.memory,
        jobs: args.limits.jobs,
        work: Default::default(),
    })
}

/// For programs that wait outside of virtual time; what only spins is found without.
const TIMEOUT: Duration = Duration::from_secs(60);

fn show(args: &ExploreArgs, found: Searched) -> Result<()> {
    let mut images = Images::new();
    let longest = found.longest;
    let failure = |f: corefold_driver::run::explore::Failure| {
        let explained = explain(&f.run, &mut images)?;
        let printed = String::from_utf8_lossy(&f.printed).into_owned();
        Ok(Failure { seed: f.seed, explained, printed, replay: replay(args, f.seed, longest) })
    };
    let failures = found.failures.into_iter().map(failure).collect::<Result<_>>()?;
    let found = Schedules {
        cpus: args.cpus,
        threads: found.plain.threads,
        tried: found.tried,
        failures,
        unfinished: found.unfinished,
    };
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => return screen::print(&schedules::json(&found)),
        Some(path) => {
            std::fs::write(path, schedules::json(&found)).with_context(|| format!("cannot write {}", path.display()))?
        }
        None => {}
    }
    screen::print(&schedules::text(&found, &screen::options(Default::default())))
}

/// The command that runs the same schedule again.
fn replay(args: &ExploreArgs, seed: u64, longest: Duration) -> String {
    let mut words = vec!["corefold run".to_string(), format!("--seed {seed} --cpus {}", args.cpus)];
    let limits = &args.limits;
    if limits.machine != corefold_machine::DEFAULT {
        words.push(format!("--machine {}", quoted(&limits.machine)));
    }
    if limits.slack != crate::cli::SLACK {
        words.push(format!("--slack {}", limits.slack));
    }
    if let Some(bytes) = limits.memory {
        words.push(format!("--memory {bytes}"));
    }
    if seed != 0 {
        words.push(format!("--longest {}", longest.as_secs_f64()));
    }
    words.push("--".into());
    words.extend(args.program.iter().map(|word| quoted(&word.to_string_lossy())));
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%{}".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [("./a", "./a"), ("", "''"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("$x", "'$x'")] {
            assert_eq!(quoted(word), expected);
        }
    }
}
