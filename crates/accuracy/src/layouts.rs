// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does `corefold fix` find the layout that ends false sharing? What its best trial promises is compared with the twin, where
//! the layout was changed in the source.
use crate::bench::Bench;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The number of CPUs of the trials.
const CPUS: &str = "8";

/// The best layout that was tried.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Layout {
    pub layout: String,
    /// Virtual seconds: as it is, in the trial, and of the twin.
    pub before: f64,
    pub trial: f64,
    pub twin: f64,
}

impl Layout {
    /// The part of the time beyond the twin's that the layout removes.
    pub fn removed(&self) -> f64 {
        (self.before - self.trial) / (self.before - self.twin)
    }

    /// Of throughput, as promised.
    pub fn gain(&self) -> f64 {
        self.before / self.trial - 1.0
    }

    /// What changing the source gained.
    pub fn gained(&self) -> f64 {
        self.before / self.twin - 1.0
    }
}

/// Tries layouts for `program`; none is `None`.
pub fn try_layouts(
    bench: &Bench,
    machine: &str,
    program: &Path,
    twin: &Path,
    arguments: &str,
) -> Result<Option<Layout>> {
    let (before, recording) = bench.run(program, machine, CPUS, arguments)?;
    let found = bench.fix(&recording)?;
    let (after, its_recording) = bench.run(twin, machine, CPUS, arguments)?;
    for file in [recording, its_recording] {
        let _ = std::fs::remove_file(file);
    }
    let seconds = |report: &serde_json::Value| report["runs"][0]["seconds"].as_f64().context("a run without its time");
    let best =
        found["layouts"].as_array().and_then(|layouts| layouts.iter().find(|layout| !layout["seconds"].is_null()));
    let Some(best) = best else { return Ok(None) };
    let with = best["with"].as_array().into_iter().flatten();
    let names: Option<Vec<&str>> = [best].into_iter().chain(with).map(|one| one["layout"].as_str()).collect();
    let layout = names.context("a layout without a name")?.join("; ");
    let trial = best["seconds"].as_f64().context("a trial without its time")?;
    Ok(Some(Layout { layout, before: seconds(&before)?, trial, twin: seconds(&after)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_layout_removes_is_told_against_the_twin() {
        let layout = Layout { layout: String::new(), before: 3.0, trial: 1.2, twin: 1.0 };
        assert!((layout.removed() - 0.9).abs() < 1e-9);
        assert_eq!((layout.gain(), layout.gained()), (1.5, 2.0));
    }
}
