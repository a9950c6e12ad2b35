// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated machine running: CPUs with clocks, who runs next, what each has stored that others do not see yet.
//!
//! A value: no statics, no I/O. The engine is a front end of it, and so is a test (`tests/common`). A front end
//! - passes what the program does on the running CPU to [`Sim::event`], over its [`Memory`] and [`Tags`], and accounts for
//!   the [`Effects`];
//! - runs others where they come first: [`Sim::next`] says who, [`Sim::switch`] makes them the running one;
//! - runs code without events as far as the [`Lease`] allows.
#![cfg_attr(not(test), no_std)]
extern crate alloc;
// Under the name by which the crate's other tests know it, with which unit tests share files.
#[cfg(test)]
extern crate self as corefold_sim;

mod access;
mod back_off;
mod clocks;
pub mod condvar;
mod cpu;
pub mod delays;
mod event;
mod events;
mod fair;
mod futexes;
mod lease;
mod memory;
mod origin;
mod parallelism;
mod place;
mod placement;
mod queue;
pub mod random;
mod run_ahead;
mod runtime;
mod sim;
mod spin_skip;
mod spins;
mod store_buffer;
mod takes;
#[cfg(test)]
mod testing;
mod timers;
mod wakes;

pub use back_off::BackOff;
pub use clocks::Clocks;
pub use cpu::Cpu;
pub use event::{Effects, Event, Retry, Wait, What};
pub use futexes::{Asleep, Futexes, Sleeper};
pub use lease::Lease;
pub use memory::{Memory, Tags};
pub use origin::{STORED, WRITTEN, origin, parts};
pub use parallelism::Parallelism;
pub use placement::{Begun, Woken};
pub use queue::{Queue, Update};
pub use run_ahead::RunAhead;
pub use runtime::Runtime;
pub use sim::{Options, Sim, Turn};
pub use spins::{LOOKS, Skipped, Spin, SpinSkips, Watched};
pub use store_buffer::{Store, StoreBuffers};
pub use takes::Takes;
pub use timers::{Due, Timers};
pub use wakes::Wakes;
