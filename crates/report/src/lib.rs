// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a recording says, for people ([`text`]) and for programs ([`json`]).
//!
//! Both compute alike: speed-up is from throughput where the program marks progress, and from
//! run time where it does not. Failed runs are in the table with their reason and in no
//! figure. What is named as a cause, and from what cost on, is decided in `finding` alone.
mod accuracy;
mod bound;
mod curve;
mod fields;
mod finding;
pub mod fix;
#[cfg(test)]
mod golden;
mod host;
mod hot;
mod json;
mod law;
pub mod layout;
mod locks;
mod marks;
mod pace;
mod place;
mod plot;
#[cfg(test)]
mod sample;
pub mod schedules;
mod style;
mod table;
mod text;
mod units;
mod usl;

pub use accuracy::{CodeKind, Expected, range_name, range_of};
pub use bound::below;
pub use corefold_recording::Work;
pub use host::{HostLibrary, HostRun};
pub use json::json;
pub use style::{is_visible, visible};
pub use text::text;

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
