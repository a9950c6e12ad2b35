// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where cargo builds.
use super::words;
use crate::exit::bad_input;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The target directory that cargo would use by itself, of these options.
pub fn target_directory(options: &[OsString]) -> Result<PathBuf> {
    let mut cargo = Command::new(super::cargo());
    cargo.args(["metadata", "--no-deps", "--format-version=1"]).stderr(Stdio::inherit());
    for name in ["--manifest-path", "--config"] {
        cargo.args(words::value(options, name).into_iter().flat_map(|value| [name.into(), value]));
    }
    let output = cargo.output().with_context(|| format!("cannot start {}", cargo.get_program().display()))?;
    if !output.status.success() {
        // cargo has said why.
        std::process::exit(output.status.code().unwrap_or(1));
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).context("reading cargo metadata")?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| bad_input!("cargo metadata names no target_directory"))
}
