// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold run`.
use crate::cli::RunArgs;
use crate::json::Json;
use crate::{host, screen, show};
use anyhow::Result;
use corefold_driver::run::{Finished, Options};
use corefold_driver::save::Recording;
use corefold_driver::{cpus, exit};
use corefold_recording::{Run, Status};
use std::path::Path;

/// Simulates, saves, shows; the exit code says how the program fared.
pub fn run(args: RunArgs) -> Result<u8> {
    let options = options(&args)?;
    let recording = Recording::create(&args.output)?;
    let json = Json::create(args.report.json.as_deref())?;
    let finished = corefold_driver::run::run(&options)?;
    // What was simulated is shown even if it cannot be kept.
    let kept = if finished.runs.is_empty() { Ok(()) } else { recording.write(&finished.runs) };
    if kept.is_ok() && !finished.runs.is_empty() {
        host::save(&finished, &args.output);
    }
    if let Some(signal) = finished.interrupted {
        kept?;
        interrupted(&finished, &options, &args.output);
        return Ok(128 + signal as u8);
    }
    let shown = show::show(&finished.runs, &args.report, &args.output, json, args.at_least);
    let below = kept.and(shown)?;
    screen::note(&format!("recording: {}", args.output.display()));
    match (exit::of_runs(&finished.runs), below) {
        (exit::FINE, Some(said)) => {
            screen::note(&format!("corefold: {said}"));
            Ok(exit::BELOW)
        }
        (code, _) => Ok(code),
    }
}

/// Refuses what would be refused before the first run, whatever the program is.
pub fn check(args: &RunArgs) -> Result<()> {
    let options = options(args)?;
    cpus::check(&options.cpus, &options.machine)
}

fn options(args: &RunArgs) -> Result<Options> {
    let machine = crate::machine::of(&args.limits)?;
    let (program, rest) = args.program.split_first().expect("clap wants one");
    for word in rest.iter().filter_map(|a| cpus::near_placeholder(&a.to_string_lossy())) {
        screen::note(&format!("corefold: `{word}` is passed unchanged; write {{cpus}} for the number of CPUs"));
    }
    Ok(Options {
        cpus: match &args.cpus {
            Some(list) => cpus::parse(list)?,
            None => cpus::default(&machine),
        },
        machine,
        seed: args.seed,
        slack: args.limits.host.slack,
        sample_period: args.sample_period,
        program: program.clone(),
        args: rest.to_vec(),
        timeout: args.limits.timeout,
        longest: args.limits.longest,
        memory_limit: args.limits.host.memory,
        jobs: args.limits.host.jobs,
        measure_host: !args.report.no_host_time,
        parking: crate::parking::of(program),
        work: args.report.work.map(Into::into).unwrap_or_default(),
    })
}

fn interrupted(finished: &Finished, options: &Options, output: &Path) {
    let cut_short = |run: &&Run| matches!(run.status, Status::Interrupted { .. });
    let (kept, cut, of) = (finished.runs.len(), finished.runs.iter().filter(cut_short).count(), options.cpus.len());
    let shown = output.display();
    screen::note(&match (kept - cut, cut) {
        (0, 0) => "corefold: interrupted before anything was simulated".to_string(),
        (ended, 0) => format!("corefold: interrupted; {ended} of {of} runs had completed and are saved in {shown}"),
        (ended, cut) => format!(
            "corefold: interrupted; {ended} of {of} runs had completed; {shown} has these and {cut} incomplete ones"
        ),
    });
}
