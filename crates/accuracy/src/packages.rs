// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of public packages, unmodified: `tests/suites/NAME.toml` says which, and how they are built.
use crate::command::finish;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `tests/suites/unpack` exits with when the package cannot be had on this machine.
const UNAVAILABLE: i32 = 75;

/// Why it cannot be had.
#[derive(Debug)]
pub struct Unavailable(String);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

/// What is needed here of such a file.
#[derive(Deserialize)]
struct Package {
    prepare: String,
    make: String,
}

/// `tests/suites` beside the folder `accuracy`.
fn folder(sources: &Path) -> Result<PathBuf> {
    Ok(sources.join("../tests/suites").canonicalize()?)
}

fn read(sources: &Path, suite: &str) -> Result<Package> {
    let file = folder(sources)?.join(suite).with_extension("toml");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    toml::from_str(&text).with_context(|| format!("in {}", file.display()))
}

/// A shell in the unpacked source, that compiles with `corefold cc`.
fn shell(corefold: &Path, sources: &Path, source: &Path, script: &str) -> Result<()> {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(source);
    // Configure scripts keep only the first word of a compiler's name.
    command.env("CC", corefold.with_file_name("corefold-cc"));
    command.env("SHORT_H", folder(sources)?.join("short.h"));
    finish(command).map(drop)
}

/// Downloads the package, if that was not done before, and unpacks and configures it in `source`: as the suite says, or by
/// another script.
pub fn configure(corefold: &Path, sources: &Path, suite: &str, prepare: Option<&str>, source: &Path) -> Result<()> {
    let package = read(sources, suite)?;
    let cache = corefold.with_file_name("packages");
    let mut unpack = Command::new(folder(sources)?.join("unpack"));
    let done = unpack.arg(suite).arg(cache).arg(source).output().context("cannot start tests/suites/unpack")?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    match done.status.code() {
        Some(0) => {}
        Some(UNAVAILABLE) => return Err(Unavailable(said).into()),
        _ => bail!("unpacking {suite}: {said}"),
    }
    shell(corefold, sources, source, prepare.unwrap_or(&package.prepare))
        .with_context(|| format!("configuring {suite}"))
}

/// Builds one program, whose path it returns.
pub fn make(corefold: &Path, sources: &Path, suite: &str, directory: &Path, program: &str) -> Result<PathBuf> {
    let script = format!("{} {program}", read(sources, suite)?.make);
    shell(corefold, sources, directory, &script).with_context(|| format!("building {program} of {suite}"))?;
    Ok(directory.join(program))
}
