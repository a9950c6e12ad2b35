// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's memory: its heap, its mappings, and how much of it there may be.
pub mod arenas;
pub mod freed;
pub mod heap;
pub mod libraries;
pub mod limit;
pub mod lines;
pub mod malloc;
pub mod mapped;
pub mod mapping;
pub mod objects;
mod operators;
pub mod places;
pub mod ranges;
pub mod relayout;
pub mod shared;
mod shim;
