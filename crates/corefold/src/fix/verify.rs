// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold fix --verify`: somebody changes the source as was proposed, and the rebuilt program is simulated.
use super::recorded::{changed, tried};
use crate::cli::FixArgs;
use anyhow::{Context, Result, anyhow, bail, ensure};
use corefold_driver::program;
use corefold_explain::{Images, explain};
use corefold_recording::Run;
use corefold_report::fix::{self, Verified};
use std::process::{Command, Stdio};

/// Runs the command, and then what was recorded once more. `again` is its run before that.
pub fn verify(args: &FixArgs, command: &str, recorded: &Run, again: &Run) -> Result<Verified> {
    // What it prints is no part of the report.
    let shell = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let status = shell.context("cannot start sh")?;
    ensure!(status.success(), "`{command}` failed ({status}): the layouts are not verified");
    let mut images = Images::new();
    let program = recorded.argv.first().context("the recording names no program")?;
    program::check(program.as_ref()).map_err(|why| anyhow!("after `{command}`: {why}"))?;
    explain(recorded, &mut images)?;
    ensure!(changed(recorded, &images).is_some(), "the program is the same after `{command}`: nothing to verify");
    let (runs, _) = tried(args, recorded, &[Vec::new()])?;
    let run = runs.first().context("interrupted before the rebuilt program ended")?;
    let Some(gain) = fix::gain(again, run) else {
        let ending = explain(run, &mut Images::new())?.ending.summary;
        bail!("after `{command}` the program ends differently: {ending}");
    };
    Ok(Verified { command: command.into(), gain, seconds: fix::seconds(run) })
}
