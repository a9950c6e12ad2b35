// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated machine running: CPUs with clocks, who runs next, what each has stored that others do not see yet.
//!
//! A value: no statics, no I/O. The engine is a front end of it, and so is a test.
#![no_std]
extern crate alloc;

mod clocks;
pub mod delays;
mod memory;
pub mod random;
mod run_ahead;
mod store_buffer;
mod timers;

pub use clocks::Clocks;
pub use memory::Memory;
pub use run_ahead::RunAhead;
pub use store_buffer::{Store, StoreBuffers};
pub use timers::{Due, Timers};
