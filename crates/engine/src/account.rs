// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is noted of a thread's work while it runs: samples of its stack, locks it takes, what it allocates and frees; and the
//! run's use of the host.
pub mod allocations;
pub mod freed;
pub mod host;
pub mod locks;
pub mod sample;
