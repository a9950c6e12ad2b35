// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all tests share: the built command, compiled programs, and runs of both.
mod build;
mod compile;
#[path = "../../../crates/corefold/tests/common/ended.rs"]
pub mod ended;
mod fetch;
mod liburcu;
mod place;
mod report;
mod simulate;
#[path = "../../skipped.rs"]
mod skipped;
mod suite;

pub use build::{corefold, stress};
pub use compile::{Compiler, Program, native, native_with, objects, program, program_with, programs, sources_in};
pub use fetch::package;
pub use liburcu::liburcu;
pub use place::{Place, Said, printed_natively, said};
pub use report::{Line, Report, Run};
pub use simulate::{Simulated, Simulation};
pub use skipped::skipped;
pub use suite::{run_suite, tell};
