// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted for reports: by line and place in the code, by lock, by label.
pub mod early;
pub mod labels;
pub mod lock_table;
pub mod meetings;
pub mod pace;
pub mod samples;
pub mod sites;
pub mod users;
