// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `corefold fix` has found.
use super::patch::Patch;
use super::slots::Luck;
use super::trial::{Trial, ranked, seconds};
use corefold_recording::Run;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct Fixes {
    pub recording: String,
    pub program: Vec<String>,
    pub machine: String,
    pub cpus: u32,
    /// Virtual time as recorded, and of the run that was just made with the layout as it is.
    pub recorded_seconds: f64,
    pub seconds: f64,
    /// By gain, the most first.
    pub layouts: Vec<Trial>,
    /// Why there is none, as a clause.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nothing: String,
    /// How today's result depends on where objects happen to begin on their lines.
    pub luck: Vec<Luck>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// The source change that makes the best layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Patch>,
}

/// What the program gains after somebody has changed its source.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// What rebuilt it.
    pub command: String,
    pub gain: f64,
    pub seconds: f64,
}

impl Fixes {
    pub fn new(recording: &str, recorded: &Run, again: &Run, layouts: Vec<Trial>) -> Fixes {
        let layouts = ranked(&layouts).into_iter().map(|number| layouts[number].clone()).collect();
        Fixes {
            recording: recording.into(),
            program: recorded.argv.clone(),
            machine: recorded.machine.clone(),
            cpus: recorded.cpus,
            recorded_seconds: seconds(recorded),
            seconds: seconds(again),
            layouts,
            nothing: String::new(),
            luck: Vec::new(),
            verified: None,
            patch: None,
        }
    }
}
