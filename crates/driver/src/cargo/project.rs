// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cargo knows of the packages: where it builds, and which targets there are.
use super::{words, work};
use crate::exit::bad_input;
use anyhow::{Context, Result};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The target directory that cargo would use by itself, of these options.
pub fn target_directory(options: &[OsString]) -> Result<PathBuf> {
    directory_in(&metadata(options)?)
}

fn directory_in(metadata: &Value) -> Result<PathBuf> {
    let directory = metadata["target_directory"].as_str().map(PathBuf::from);
    directory.ok_or_else(|| bad_input!("cargo metadata names no target_directory"))
}

/// A target, as cargo selects it.
pub struct Named {
    /// `run` or `bench`.
    pub subcommand: &'static str,
    /// `--bench`, `--example` or `--bin`.
    pub option: &'static str,
    /// Where its recording goes unless the user says.
    pub recording: PathBuf,
}

/// The kinds of targets that are programs without tests, in the order in which a name is looked for.
const KINDS: [(&str, &str, &str); 3] =
    [("bench", "bench", "--bench"), ("example", "run", "--example"), ("bin", "run", "--bin")];

/// The benchmark, example or binary of this name: of the package in the current directory, or of any in the workspace.
pub fn named(name: &OsStr, options: &[OsString]) -> Result<Named> {
    let metadata = metadata(options)?;
    let here = std::env::current_dir().context("the current directory")?;
    let all = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let own = all.iter().filter(|package| is_in(package, &here));
    let found = own.chain(all).find_map(|package| kind_of(package, name));
    let Some((subcommand, option)) = found else {
        return Err(bad_input!("no benchmark, example or binary is named {}", name.display()));
    };
    let directory = match words::value(options, "--target-dir") {
        Some(directory) => std::path::absolute(directory)?,
        None => directory_in(&metadata)?.join("corefold"),
    };
    Ok(Named { subcommand, option, recording: directory.join(name).with_added_extension("rec") })
}

fn is_in(package: &Value, directory: &Path) -> bool {
    package["manifest_path"].as_str().is_some_and(|manifest| Path::new(manifest).parent() == Some(directory))
}

fn kind_of(package: &Value, name: &OsStr) -> Option<(&'static str, &'static str)> {
    let is = |target: &Value, kind: &str| {
        target["name"].as_str().is_some_and(|own| own == name)
            && target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|own| own == kind))
    };
    let targets = package["targets"].as_array()?;
    let kind = KINDS.iter().find(|(kind, ..)| targets.iter().any(|target| is(target, kind)))?;
    Some((kind.1, kind.2))
}

fn metadata(options: &[OsString]) -> Result<Value> {
    let mut cargo = Command::new(work::cargo());
    cargo.args(["metadata", "--no-deps", "--format-version=1"]).stderr(Stdio::inherit());
    for name in ["--manifest-path", "--config"] {
        cargo.args(words::value(options, name).into_iter().flat_map(|value| [name.into(), value]));
    }
    let output = cargo.output().with_context(|| format!("cannot start {}", cargo.get_program().display()))?;
    if !output.status.success() {
        // cargo has said why.
        std::process::exit(output.status.code().unwrap_or(1));
    }
    serde_json::from_slice(&output.stdout).context("reading cargo metadata")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_among_benchmarks_first() {
        let target = |name: &str, kind: &str| serde_json::json!({"name": name, "kind": [kind]});
        let package = serde_json::json!({"targets": [
            target("a", "lib"), target("b", "bin"), target("c", "bin"), target("c", "example"), target("d", "test"),
            target("e", "example"), target("e", "bench"),
        ]});
        let found = |name: &str| kind_of(&package, name.as_ref()).map(|found| found.1);
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(found),
            [None, Some("--bin"), Some("--example"), None, Some("--bench")]
        );
    }
}
