// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies where in the program's memory, and where the simulator has it.
pub mod alloc_sites;
pub mod allocated;
pub mod headers;
pub mod limit;
pub mod lines;
pub mod mapped;
pub mod objects;
pub mod places;
pub mod ranges;
pub mod relayout;
