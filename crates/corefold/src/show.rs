// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a recording to its report.
use crate::cli::{ReportArgs, ReportOptions};
use crate::json::Json;
use crate::{host, screen};
use anyhow::Result;
use corefold_driver::{exit, save};
use corefold_explain::{Images, explain};
use corefold_recording::Run;
use corefold_report::Options;
use std::path::Path;

/// `corefold report`. That the recorded program failed does not make the report fail.
pub fn report(args: &ReportArgs) -> Result<u8> {
    let json = Json::create(args.options.json.as_deref())?;
    show(&save::load(&args.recording)?, &args.options, &args.recording, json, None)?;
    Ok(exit::FINE)
}

/// Explains the runs, and prints them as the options say. What comes back is to be said if their speed-up is below
/// `least`.
pub fn show(
    runs: &[Run],
    options: &ReportOptions,
    recording: &Path,
    to: Json,
    least: Option<f64>,
) -> Result<Option<String>> {
    let images = Images::with_full_names(options.full_names);
    let mut images = if to.is_none() { images.for_text() } else { images };
    let explained = runs.iter().map(|run| explain(run, &mut images)).collect::<Result<Vec<_>>>()?;
    let recorded = runs.first().map(|run| run.work).unwrap_or_default();
    let host = if options.no_host_time { Vec::new() } else { host::load(recording, runs) };
    let look = Options { host, ..screen::options(options.work.map_or(recorded, Into::into)) };
    to.print(|| corefold_report::json(&explained, &look), || corefold_report::text(&explained, &look))?;
    // The process is about to end: to free what was read of files, piece by piece, takes as long as some of it took to read.
    std::mem::forget(images);
    Ok(least.and_then(|least| corefold_report::below(&explained, &look, least)))
}
