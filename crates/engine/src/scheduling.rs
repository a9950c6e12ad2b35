// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which thread runs where and when: CPUs, their clocks and store buffers, fibers and their spins.
pub mod alike;
pub mod charges;
pub mod fiber;
pub mod foreign_stack;
mod held;
pub mod lease;
pub mod look;
pub mod lookup;
pub mod outside;
pub mod parallelism;
pub mod peek;
pub mod perturb;
pub mod placing;
pub mod program_memory;
pub mod run_ahead;
pub mod sched;
pub mod shown;
pub mod spin;
pub mod spin_skip;
pub mod stack_stores;
pub mod store_buffer;
pub mod timers;
pub mod trace;
pub mod turns;
pub mod unhooked;
pub mod waits;
