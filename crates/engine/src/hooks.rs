// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the compiled-in hooks call: memory accesses, atomic operations, basic blocks, function entries.
//! `estimate` is for code whose blocks have no hooks, `tsan` what else the runtime of TSan has.
pub mod access;
pub mod atomics;
pub mod awaited;
pub mod blocks;
pub mod branches;
pub mod decoded;
pub mod delays;
pub mod estimate;
pub mod frames;
mod inline;
pub mod inline_assembly;
pub mod l1_refill;
pub mod limit;
pub mod polls;
pub mod results;
mod settle;
mod skip;
pub mod split;
pub mod trip_counts;
mod tsan;
mod unaligned;
pub mod wide;
