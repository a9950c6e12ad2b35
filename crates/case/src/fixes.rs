// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `corefold fix` finds in recordings of a case's runs.
use crate::spec::{Asked, Case};
use anyhow::{Context, Result, anyhow};
use corefold_driver::run::signals;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is taken of its document: docs/layout.md.
#[derive(Deserialize)]
pub struct Found {
    layouts: Vec<Layout>,
}

#[derive(Deserialize)]
struct Layout {
    layout: String,
    gain: Option<f64>,
    also: Vec<Other>,
}

#[derive(Deserialize)]
struct Other {
    gain: Option<f64>,
}

pub type Fixes = HashMap<String, Found>;

/// Where the recording of a run is, if a fix needs it.
pub fn recording(case: &Case, place: &Path, run: &str) -> Option<PathBuf> {
    let is_needed = case.fixes.values().any(|fix| fix.run == run || fix.also == run);
    is_needed.then(|| place.join(format!("{run}.rec")))
}

/// All fixes, one after the other: each runs on all cores.
pub fn all(case: &Case, corefold: &Path, place: &Path) -> Result<Fixes> {
    let one = |name: &String| -> Result<Found> {
        let fix = &case.fixes[name];
        let of = |run: &str| recording(case, place, run).context("a fix needs its recording");
        let mut command = Command::new(corefold);
        command.args(["fix", "--json", "-"]).arg(of(&fix.run)?).arg("--also").arg(of(&fix.also)?);
        signals::end_with_us(&mut command, signals::END);
        let done = command.output().with_context(|| format!("cannot start {}", corefold.display()))?;
        serde_json::from_slice(&done.stdout).map_err(|error| {
            anyhow!("the fix {name:?} found nothing ({error}):\n{}", String::from_utf8_lossy(&done.stderr))
        })
    };
    case.fixes.keys().map(|name| Ok((name.clone(), one(name)?))).collect()
}

impl Found {
    /// In percent, or a rank.
    pub fn layout(&self, words: &str, asked: Asked) -> Result<f64> {
        let number = self.layouts.iter().position(|layout| layout.layout.starts_with(words));
        let number = number.with_context(|| {
            let all: Vec<&str> = self.layouts.iter().map(|layout| layout.layout.as_str()).collect();
            format!("no layout that was tried begins with {words:?}: {all:?}")
        })?;
        let layout = &self.layouts[number];
        let gain = match asked {
            Asked::Rank => return Ok((number + 1) as f64),
            Asked::Gain => layout.gain,
            Asked::Also => layout.also.first().and_then(|other| other.gain),
        };
        Ok(gain.with_context(|| format!("{}: it was not tried so, or failed", layout.layout))? * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_taken_from_the_layout_whose_words_begin_so() {
        let text = r#"{ "layouts": [
            { "layout": "x on lines", "gain": 0.25, "also": [{ "gain": -0.01 }] },
            { "layout": "y apart", "gain": 0.125, "also": [] }
        ] }"#;
        let found: Found = serde_json::from_str(text).unwrap();
        let figure = |words, asked| found.layout(words, asked).ok();
        assert_eq!((figure("x", Asked::Gain), figure("x", Asked::Also)), (Some(25.0), Some(-1.0)));
        assert_eq!(
            (figure("y", Asked::Rank), figure("z", Asked::Rank), figure("y", Asked::Also)),
            (Some(2.0), None, None)
        );
    }
}
