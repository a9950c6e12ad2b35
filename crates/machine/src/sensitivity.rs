// SPDX-License-Identifier: MIT OR Apache-2.0
//! By how much results move when an estimated number is wrong, as it was measured and saved.
use serde::{Deserialize, Serialize};

/// The share by which each number was made smaller and larger.
pub const WRONG_BY: f64 = 0.3;
/// Stands in place of a program where no other value makes a machine: of nothing, or of the bytes of a line.
pub const NOT_TRIED: &str = "no other value to try";

/// Of one number of one profile.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Moves {
    /// The number.
    pub value: f64,
    /// By how many percent the time of an operation changed at most.
    pub percent: f64,
    /// In which program; empty if in none. [`NOT_TRIED`]: not known.
    pub of: String,
}
