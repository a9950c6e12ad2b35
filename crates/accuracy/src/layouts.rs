// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does `corefold fix` find the layout that ends false sharing? What its best trial promises is compared with the twin, where
//! the layout was changed in the source, and with the program that its own source patch makes.
use crate::bench::{Bench, Copy};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    /// What its source patch makes, if it can be made as a whole.
    #[serde(default)]
    pub patched: Option<Patched>,
}

/// The program that a source patch makes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Patched {
    pub layout: String,
    /// Virtual seconds of the trial that it is the patch of, and of the rebuilt program.
    pub trial: f64,
    pub seconds: f64,
}

impl Patched {
    /// What its trial promised, and what it gains.
    pub fn gains(&self, of: &Layout) -> (f64, f64) {
        (of.before / self.trial - 1.0, of.before / self.seconds - 1.0)
    }

    /// The part of the time beyond the twin's that it removes.
    pub fn removed(&self, of: &Layout) -> f64 {
        (of.before - self.seconds) / (of.before - of.twin)
    }
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

/// Tries layouts for the program, which its patch changes; none is `None`.
pub fn try_layouts(bench: &Bench, copy: &Copy, twin: &Path, arguments: &str) -> Result<Option<Layout>> {
    let (before, recording) = bench.run(&copy.program, CPUS, arguments)?;
    let found = bench.fix(&recording, copy)?;
    let (after, its_recording) = bench.run(twin, CPUS, arguments)?;
    for file in [recording, its_recording] {
        let _ = std::fs::remove_file(file);
    }
    let seconds = |report: &serde_json::Value| report["runs"][0]["seconds"].as_f64().context("a run without its time");
    let best =
        found["layouts"].as_array().and_then(|layouts| layouts.iter().find(|layout| !layout["seconds"].is_null()));
    let Some(best) = best else { return Ok(None) };
    let layout = name(best).context("a layout without a name")?;
    let trial = best["seconds"].as_f64().context("a trial without its time")?;
    let patched = patched(&found)?;
    Ok(Some(Layout { layout, before: seconds(&before)?, trial, twin: seconds(&after)?, patched }))
}

/// Of all layouts that were tried together.
fn name(trial: &Value) -> Option<String> {
    let with = trial["with"].as_array().into_iter().flatten();
    let names: Option<Vec<&str>> = [trial].into_iter().chain(with).map(|one| one["layout"].as_str()).collect();
    Some(names?.join("; "))
}

/// What the patch made, if the source could be patched as a whole.
fn patched(found: &Value) -> Result<Option<Patched>> {
    let (patch, verified) = (&found["patch"], &found["verified"]);
    if verified.is_null() || patch["by_hand"].as_array().is_none_or(|by_hand| !by_hand.is_empty()) {
        return Ok(None);
    }
    ensure!(!verified["gain"].is_null(), "the patched program ends with another status: {}", patch["diff"]);
    let layout = patch["layout"].as_str().context("a patch without a layout")?;
    let trial = found["layouts"].as_array().into_iter().flatten().find(|trial| name(trial).as_deref() == Some(layout));
    let trial = trial.and_then(|trial| trial["seconds"].as_f64()).context("a patch of no trial")?;
    let seconds = verified["seconds"].as_f64().context("a verified program without its time")?;
    Ok(Some(Patched { layout: layout.into(), trial, seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_is_held_against_its_own_trial() {
        let mut found = json!({
            "layouts": [{ "layout": "a", "seconds": 1.0 }, { "layout": "b", "with": [{ "layout": "c" }], "seconds": 1.5 }],
            "patch": { "layout": "b; c", "by_hand": [] },
            "verified": { "gain": 0.5, "seconds": 2.0 },
        });
        let of = |found: &Value| patched(found).map(|patched| patched.map(|patched| (patched.trial, patched.seconds)));
        assert_eq!(of(&found).unwrap(), Some((1.5, 2.0)));
        found["verified"]["gain"] = Value::Null;
        assert!(of(&found).is_err(), "it ended otherwise");
        found["patch"]["by_hand"] = json!(["why"]);
        assert_eq!(of(&found).unwrap(), None);
        found["verified"] = Value::Null;
        assert_eq!(of(&found).unwrap(), None);
    }

    #[test]
    fn what_a_layout_removes_is_told_against_the_twin() {
        let patched = Patched { layout: String::new(), trial: 1.5, seconds: 2.0 };
        let layout = Layout { layout: String::new(), before: 3.0, trial: 1.2, twin: 1.0, patched: None };
        assert_eq!((patched.gains(&layout), patched.removed(&layout)), ((1.0, 0.5), 0.5));
        assert!((layout.removed() - 0.9).abs() < 1e-9);
        assert_eq!((layout.gain(), layout.gained()), (1.5, 2.0));
    }
}
