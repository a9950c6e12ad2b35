// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted while the program runs, and the recording of it.
pub mod allocations;
pub mod freed;
pub mod host;
pub mod locks;
pub mod sample;
