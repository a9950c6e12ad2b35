// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program says of its own progress, and the recording of the run.
pub mod progress;
pub mod record;
pub mod region;
