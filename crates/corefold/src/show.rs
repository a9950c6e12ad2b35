// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a recording to its report.
use crate::cli::{ReportArgs, ReportOptions};
use crate::{host, screen};
use anyhow::Result;
use corefold_driver::save::Output;
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

/// Where the JSON document goes: looked at before anything is simulated.
pub enum Json {
    /// In place of the text.
    Standard,
    Beside(Option<Output>),
}

impl Json {
    pub fn create(path: Option<&Path>) -> Result<Json> {
        match path {
            Some(path) if path == Path::new("-") => Ok(Json::Standard),
            path => path.map(|path| Output::create(path, "the JSON document")).transpose().map(Json::Beside),
        }
    }

    /// Prints one or both. A document that cannot be written does not keep the text back.
    pub fn print(self, json: impl FnOnce() -> String, text: impl FnOnce() -> String) -> Result<()> {
        match self {
            Json::Standard => screen::print(&json()),
            Json::Beside(output) => {
                let written = output.map_or(Ok(()), |output| output.write(json().as_bytes()));
                screen::print(&text()).and(written)
            }
        }
    }
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
    let mut images = Images::with_full_names(options.full_names);
    let explained = runs.iter().map(|run| explain(run, &mut images)).collect::<Result<Vec<_>>>()?;
    let recorded = runs.first().map(|run| run.work).unwrap_or_default();
    let host = if options.no_host_time { Vec::new() } else { host::load(recording, runs) };
    let look = Options { host, ..screen::options(options.work.map_or(recorded, Into::into)) };
    to.print(|| corefold_report::json(&explained, &look), || corefold_report::text(&explained, &look))?;
    Ok(least.and_then(|least| corefold_report::below(&explained, &look, least)))
}
