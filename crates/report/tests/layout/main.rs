// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold_report::layout` over files that compilers and pahole made.
mod built;
mod fuzz;
mod golden;
mod hostile;
mod kit;
mod pahole;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
