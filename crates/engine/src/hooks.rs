// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the compiled-in hooks call: memory accesses, atomic operations, basic blocks, function entries.
pub mod access;
pub mod around;
pub mod atomics;
pub mod blocks;
pub mod frames;
pub mod hot;
pub mod pending;
pub mod spin;
mod unaligned;
pub mod wide;
