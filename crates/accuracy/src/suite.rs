// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured: `accuracy/suite.toml`.
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub native: Native,
    pub group: Vec<Group>,
    /// What is known of misses.
    #[serde(default)]
    pub known: Vec<Known>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Machine and workload.
    pub of: String,
    pub why: String,
}

/// Workloads that run on this host and on its profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Native {
    /// Of a native trial, and how many there are.
    pub microseconds: u64,
    pub trials: usize,
    /// Of a simulated run.
    pub simulated_microseconds: u64,
    pub workloads: Vec<String>,
    /// Those of them in which nothing is shared: no line may be blamed.
    pub private: Vec<String>,
}

/// Published curves of one machine, from one source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub title: String,
    pub source: String,
    /// The profile.
    pub machine: String,
    /// A file of `accuracy/published`, and one of `validation/curves`.
    pub program: String,
    pub data: Option<String>,
    pub microseconds: u64,
    /// Of the numbers of threads, those that are simulated; none: all that the machine has CPUs for.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// Why the points of this group are listed apart, without a bound.
    pub apart: Option<String>,
    pub curve: Vec<Curve>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    pub name: String,
    /// For the compiler.
    pub options: Vec<String>,
    /// The source's name of it, if its file has several; and its own file.
    pub series: Option<String>,
    pub data: Option<String>,
    pub apart: Option<String>,
    /// In place of the group's.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// A constant that the source withholds, set from the point with one thread.
    pub withheld: Option<Withheld>,
    /// Nothing is shared: no line may be blamed.
    #[serde(default)]
    pub private: bool,
}

/// A macro of the program, between two values; time grows in proportion to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    #[serde(rename = "macro")]
    pub name: String,
    pub between: (u32, u32),
}

impl Suite {
    pub fn read(file: &Path) -> Result<Suite> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        toml::from_str(&text).with_context(|| format!("in {}", file.display()))
    }
}
