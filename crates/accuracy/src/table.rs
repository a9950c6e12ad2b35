// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells and rows of the page's tables.
use std::fmt::Write;

/// A verdict in one word.
pub fn verdict(reached: bool) -> &'static str {
    if reached { "reached" } else { "**missed**" }
}

pub fn row(page: &mut String, cells: &[String]) {
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}
