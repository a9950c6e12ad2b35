// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted, and where.
use std::sync::atomic::AtomicU64;

/// ```
/// assert_eq!(tally::Tally::default().name, "");
/// ```
/// Aligned, as what threads share often is: such objects come from another function of libc.
#[derive(Default)]
#[repr(align(128))]
pub struct Tally {
    pub name: &'static str,
    pub hits: AtomicU64,
}
