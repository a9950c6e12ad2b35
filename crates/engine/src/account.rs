// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted while the program runs, and the recording of it.
pub mod charges;
pub mod early;
pub mod host;
pub mod labels;
pub mod lock_table;
pub mod locks;
mod meetings;
pub mod pace;
pub mod progress;
pub mod record;
pub mod region;
pub mod sample;
pub mod sites;
pub mod trace;
mod users;
