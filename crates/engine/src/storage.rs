// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's memory: its heap, its mappings, and how much of it there may be.
pub mod limit;
pub mod lines;
pub mod mapped;
pub mod objects;
pub mod places;
pub mod ranges;
pub mod relayout;
