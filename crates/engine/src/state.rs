// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a simulated thread, as data: each is what one room of the runtime keeps of it.
pub mod calls;
pub mod hooks;
pub mod pthread;
pub mod scheduler;
pub mod signals;
pub mod wait;
