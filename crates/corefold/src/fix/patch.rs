// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source change that makes the best layout: what of the host it depends on.
use anyhow::{Context, Result};
use corefold_report::fix::{self, Patch, Trial};
use std::path::{Path, PathBuf};

/// No source file is so large.
const MOST_BYTES: u64 = 64 << 20;
/// Headers there are not the program's.
const SYSTEM: [&str; 2] = ["/usr/include", "/usr/lib"];

/// Paths are relative to the current folder, if what is changed is there.
pub fn patch(trials: &[Trial], line_bytes: u64) -> Result<Option<Patch>> {
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
    let folder = folder.context("cannot tell the current folder")?;
    Ok(fix::patch(trials, line_bytes, &folder, &mut read))
}

fn read(file: &str) -> Option<(PathBuf, String)> {
    let path = Path::new(file).canonicalize().ok()?;
    let is_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
    let bytes = corefold_files::read_regular(&path, MOST_BYTES).ok().filter(|_| !is_system)?;
    Some((path, String::from_utf8(bytes).ok()?))
}
