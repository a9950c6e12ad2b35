// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program writes about itself, such as kit/bench/vfs does by `--json`.
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
pub struct Results {
    /// Operations a second.
    pub throughput: f64,
    pub operations: u64,
    /// Of builds that count them.
    pub lock_releases: Option<Vec<Counted>>,
}

#[derive(Deserialize)]
pub struct Counted {
    pub primitive: String,
    pub count: u64,
    /// Return addresses in the program's file, innermost first.
    pub stack: Vec<u64>,
}

impl Results {
    pub fn read(file: &Path) -> Result<Results> {
        let text = corefold_files::read_text(file, 64 << 20).context("cannot read the program's results")?;
        serde_json::from_str(&text).context("the program's results are malformed")
    }
}
