// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver: compiles programs for simulation, starts simulated runs, guards them, and merges what
//! they leave behind.
//!
//! [`cc::compile`] becomes the compiler, [`cargo`] has cargo build with hooks. [`run::run`] starts one child process for each number of
//! CPUs, tells the engine inside it what to simulate (crate `corefold-launch`), and returns a
//! recording's runs whatever became of the children. [`exit`] is the one place that knows the
//! command's exit codes.
pub mod cargo;
pub mod cc;
pub mod cpus;
pub mod exit;
pub mod program;
pub mod run;
pub mod runtime;
mod rust;
pub mod save;
pub mod scratch;
pub mod seeds;

pub use exit::BadInput;
