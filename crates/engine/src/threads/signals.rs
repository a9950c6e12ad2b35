// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals, as Linux has them: of a thread or of the process, pending, blocked, queued, delivered.
//!
//! All is the simulation's own: the carrier's real mask stays empty. A running thread takes a signal at its
//! next basic block or at the end of the call that unblocks it, as a handler must not find the runtime at
//! work; a blocked one is woken, runs the handler, and its call fails or continues. Signals from other
//! processes are taken in at a basic block, and are then signals like any other.
pub mod actions;
pub mod blocking;
pub mod delivery;
mod frame;
mod kill;
mod masks;
mod outside;
pub mod pending;
pub mod sending;
mod setting;
mod waiting;

pub use kill::{aborts, by_number};
pub use masks::Borrowed;
pub use outside::{hand_over, holds_back, take_in};
