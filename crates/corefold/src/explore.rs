// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold explore`.
use crate::cli::ExploreArgs;
use crate::json::Json;
use crate::limits::TIMEOUT;
use crate::replay;
use crate::screen;
use anyhow::Result;
use corefold_driver::run::Options;
use corefold_driver::run::explore::{Search, Searched, Unfinished, explore as search};
use corefold_driver::seeds::Seeds;
use corefold_driver::{cpus, exit};
use corefold_explain::{Images, explain};
use corefold_report::schedules::{self, Failure, Schedules};

/// Runs the program under each seed's schedule, and tells what failed.
pub fn explore(args: ExploreArgs) -> Result<u8> {
    let json = Json::create(args.json.as_deref())?;
    let found =
        search(Search { options: options(&args)?, seeds: Seeds::parse(&args.seeds)?, stop_after: most(&args) })?;
    if let Some(signal) = found.interrupted {
        screen::note(&format!("corefold: interrupted after {} seeds", found.tried));
        if found.failures.is_empty() {
            return Ok(128 + signal as u8);
        }
    }
    let code = code(&found);
    show(&args, found, json)?;
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

/// Refuses what would be refused before the first run, whatever the program is.
pub fn check(args: &ExploreArgs) -> Result<()> {
    let options = options(args)?;
    Seeds::parse(&args.seeds)?;
    cpus::check(&options.cpus, &options.machine)
}

fn options(args: &ExploreArgs) -> Result<Options> {
    let machine = crate::machine::of(&args.limits)?;
    let (program, rest) = args.program.split_first().expect("clap wants one");
    Ok(Options {
        cpus: vec![args.cpus],
        machine,
        seed: 0,
        slack: args.limits.host.slack,
        sample_period: corefold_driver::run::SAMPLE_PERIOD,
        program: program.clone(),
        args: rest.to_vec(),
        timeout: Some(args.limits.timeout.unwrap_or(TIMEOUT)),
        longest: args.limits.longest,
        memory_limit: args.limits.host.memory,
        jobs: args.limits.host.jobs,
        work: Default::default(),
        measure_host: false,
        parking: crate::parking::of(program),
    })
}

fn show(args: &ExploreArgs, found: Searched, to: Json) -> Result<()> {
    let mut images = Images::new();
    let longest = found.longest;
    let failure = |f: corefold_driver::run::explore::Failure| {
        let explained = explain(&f.run, &mut images)?;
        let printed = String::from_utf8_lossy(&f.printed).into_owned();
        Ok(Failure { seed: f.seed, explained, printed, replay: replay::command(args, f.seed, longest, &f.run.status) })
    };
    let failures = found.failures.into_iter().map(failure).collect::<Result<_>>()?;
    let Unfinished { host: too_slow, longest: too_long } = found.unfinished;
    let found = Schedules {
        cpus: args.cpus,
        threads: found.plain.threads,
        by_cpus: args.program.iter().any(|word| word.to_string_lossy().contains("{cpus}")),
        tried: found.tried,
        failures,
        too_slow,
        too_long,
        longest,
    };
    let look = screen::options(Default::default());
    to.print(|| schedules::json(&found), || schedules::text(&found, &look))
}
