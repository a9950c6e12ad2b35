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
mod options;
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
pub use options::Options;
pub use style::{is_visible, visible};
pub use text::text;
