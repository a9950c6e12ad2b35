// SPDX-License-Identifier: MIT OR Apache-2.0
//! Child processes that must succeed.
use anyhow::{Context, Result, bail};
use std::process::{Command, Output};

/// Runs a command that must succeed.
pub fn finish(mut command: Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}
