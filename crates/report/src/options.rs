// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a caller of [`crate::text`] and [`crate::json`] decides.
use crate::accuracy::Expected;
use crate::host::HostRun;
use corefold_recording::Work;

/// How to show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub work: Work,
    /// Escape codes for colour; for terminals only.
    pub color: bool,
    /// Characters a line; at least 80 and at most 140 are used.
    pub width: usize,
    /// No braille, no blocks: for terminals that have ASCII only in their graphics.
    pub ascii: bool,
    /// What was measured of the simulation's accuracy; without it nothing is said of that.
    pub accuracy: Vec<Expected>,
    /// What was measured of the runs' use of the host; nothing is said of it where that is empty.
    pub host: Vec<HostRun>,
}

impl Default for Options {
    fn default() -> Options {
        Options { work: Work::Total, color: false, width: 100, ascii: false, accuracy: Vec::new(), host: Vec::new() }
    }
}
