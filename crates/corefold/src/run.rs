// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold run`.
use crate::cli::RunArgs;
use crate::{screen, show};
use anyhow::Result;
use corefold_driver::run::{Finished, Options};
use corefold_driver::save::Recording;
use corefold_driver::{cpus, exit};
use std::path::Path;

/// Simulates, saves, shows; the exit code says how the program fared.
pub fn run(args: RunArgs) -> Result<u8> {
    let options = options(&args)?;
    let recording = Recording::create(&args.output)?;
    let finished = corefold_driver::run::run(&options)?;
    if !finished.runs.is_empty() {
        recording.write(&finished.runs)?;
    }
    if let Some(signal) = finished.interrupted {
        interrupted(&finished, &options, &args.output);
        return Ok(128 + signal as u8);
    }
    show::show(&finished.runs, &args.report)?;
    screen::note(&format!("recording: {}", args.output.display()));
    Ok(exit::of_runs(&finished.runs))
}

fn options(args: &RunArgs) -> Result<Options> {
    let machine = crate::machine::of(&args.limits)?;
    let (program, rest) = args.program.split_first().expect("clap wants one");
    for word in rest.iter().filter_map(|a| cpus::near_placeholder(&a.to_string_lossy())) {
        screen::note(&format!("corefold: `{word}` is passed as it is; {{cpus}} stands for the number of CPUs"));
    }
    Ok(Options {
        cpus: match &args.cpus {
            Some(list) => cpus::parse(list)?,
            None => cpus::default(&machine),
        },
        machine,
        seed: args.seed,
        slack: args.limits.slack,
        sample_period: args.sample_period,
        program: program.clone(),
        args: rest.to_vec(),
        timeout: args.limits.timeout,
        longest: args.limits.longest,
        memory_limit: args.limits.memory,
        jobs: args.limits.jobs,
        work: args.report.work.map(Into::into).unwrap_or_default(),
    })
}

fn interrupted(finished: &Finished, options: &Options, output: &Path) {
    let (had, of) = (finished.runs.len(), options.cpus.len());
    screen::note(&match had {
        0 => "corefold: interrupted before anything was simulated".to_string(),
        _ => format!("corefold: interrupted; {had} of {of} counts are in {}", output.display()),
    });
}
