// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted, and where.
use std::sync::atomic::AtomicU64;

/// ```
/// assert_eq!(tally::Tally::default().name, "");
/// ```
#[derive(Default)]
pub struct Tally {
    pub name: &'static str,
    pub hits: AtomicU64,
}
