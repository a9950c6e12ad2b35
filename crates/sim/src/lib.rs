// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated machine running: CPUs with clocks, who runs next, what each has stored that others do not see yet.
//!
//! A value: no statics, no I/O. The engine is a front end of it, and so is a test.
#![no_std]
extern crate alloc;

mod clocks;
pub mod delays;
pub mod random;
mod run_ahead;
mod timers;

pub use clocks::Clocks;
pub use run_ahead::RunAhead;
pub use timers::{Due, Timers};
