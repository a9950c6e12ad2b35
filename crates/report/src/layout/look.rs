// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all views of structures have in common.

/// How structures are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Bytes of a cache line.
    pub line: u64,
    /// Structures inside are shown with their members.
    pub expand: bool,
    /// Characters a line, of tables and sentences.
    pub width: usize,
}

/// Cache lines that so many bytes take, the first of them at the begin of one.
pub fn counted_lines(size: u64, line: u64) -> u64 {
    size.div_ceil(line)
}
