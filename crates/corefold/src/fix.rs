// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold fix`: other layouts of the structures that a recording waited for, each tried by a run of its own.
mod patch;
mod recorded;
mod search;
mod verify;

use crate::cli::FixArgs;
use crate::json::Json;
use crate::screen;
use anyhow::{Context, Result, ensure};
use corefold_driver::save::Output;
use corefold_driver::{exit, program, save};
use corefold_recording::{Run, Status};
use corefold_report::fix::{self, Fixes};
use search::{Search, Workload};
use std::path::Path;

pub fn fix(args: FixArgs) -> Result<u8> {
    let to = Json::create(args.json.as_deref())?;
    let to_patch = args.patch.as_deref().map(|path| Output::create(path, "the patch")).transpose()?;
    let recorded = chosen(&args.recording, args.cpus)?;
    let name = recorded.argv.first().context("the recording names no program")?;
    if name.contains('/') && Path::new(name).is_relative() && !Path::new(name).exists() {
        let what = "does not exist here: run `corefold fix` in the directory where `corefold run` was started";
        return Err(corefold_driver::BadInput(format!("{name} {what}")).into());
    }
    program::check(name.as_ref())?;
    let mut search = Search::new(&args, recorded, others(&args)?);
    search.run()?;
    let (done, asked, signal) = (search.trials.len(), search.asked, search.signal);
    let (line_bytes, nothing) = (search.line_bytes(), core::mem::take(&mut search.nothing));
    let (recorded, again) = search.workload.ended();
    let mut fixes = Fixes::new(&args.recording.to_string_lossy(), recorded, again, search.trials);
    fixes.luck = search.luck;
    if fixes.layouts.is_empty() {
        fixes.nothing = if signal.is_some() { "no layout was tried before the interruption".into() } else { nothing };
    }
    if let Ok(line_bytes) = line_bytes {
        fixes.patch = patch::patch(&fixes.layouts, line_bytes)?;
    }
    let diff = fixes.patch.as_ref().map(|patch| patch.diff.as_str()).unwrap_or_default();
    let is_missing = args.patch.is_some() && diff.is_empty();
    to_patch.map_or(Ok(()), |output| output.write(diff.as_bytes()))?;
    if let (Some(command), None, false) = (&args.verify, signal, is_missing) {
        fixes.verified = Some(verify::verify(&args, command, recorded, again)?);
    }
    to.print(|| fix::json(&fixes), || fix::text(&fixes, &screen::options(recorded.work)))?;
    if let Some(signal) = signal {
        screen::note(&format!("corefold: interrupted; {done} of {asked} layouts were tried"));
        return Ok(128 + signal as u8);
    }
    Ok(exit::FINE)
}

/// The recordings that the layouts are weighed by.
fn others(args: &FixArgs) -> Result<Vec<Workload>> {
    args.also.iter().map(|path| Ok(Workload::new(&path.to_string_lossy(), chosen(path, args.cpus)?))).collect()
}

/// The run of the recording at that count, or at its largest.
fn chosen(path: &Path, cpus: Option<u32>) -> Result<Run> {
    let runs = save::load(path)?;
    let ended = runs.into_iter().filter(|run| matches!(run.status, Status::Exited(_)));
    let run = match cpus {
        Some(cpus) => ended.into_iter().find(|run| run.cpus == cpus),
        None => ended.max_by_key(|run| run.cpus),
    };
    let at = cpus.map(|cpus| format!(" at {cpus} CPUs")).unwrap_or_default();
    let run = run.with_context(|| format!("{} has no run{at} in which the program exited", path.display()))?;
    let Run { seed, .. } = run;
    ensure!(
        seed == 0,
        "{} was recorded with --seed {seed}, whose schedule delays threads, so gains measured on it would mean nothing: \
         record it again without --seed",
        path.display()
    );
    Ok(run)
}
