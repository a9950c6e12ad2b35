// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a recording to its report.
use crate::cli::{ReportArgs, ReportOptions};
use crate::{host, screen};
use anyhow::{Context, Result};
use corefold_driver::{exit, save};
use corefold_explain::{Images, explain};
use corefold_recording::Run;
use corefold_report::Options;
use std::path::Path;

/// `corefold report`. That the recorded program failed does not make the report fail.
pub fn report(args: &ReportArgs) -> Result<u8> {
    show(&save::load(&args.recording)?, &args.options, &args.recording)?;
    Ok(exit::FINE)
}

/// Explains the runs, and prints them as the options say.
pub fn show(runs: &[Run], options: &ReportOptions, recording: &Path) -> Result<()> {
    let mut images = Images::new();
    let explained = runs.iter().map(|run| explain(run, &mut images)).collect::<Result<Vec<_>>>()?;
    let recorded = runs.first().map(|run| run.work).unwrap_or_default();
    let host = if options.no_host_time { Vec::new() } else { host::load(recording, runs) };
    let look = Options { host, ..screen::options(options.work.map_or(recorded, Into::into)) };
    let json = || corefold_report::json(&explained, &look);
    match options.json.as_deref() {
        Some(path) if path == Path::new("-") => return screen::print(&json()),
        Some(path) => {
            std::fs::write(path, json()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => {}
    }
    screen::print(&corefold_report::text(&explained, &look))
}
