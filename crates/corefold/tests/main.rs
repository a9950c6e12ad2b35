// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command, as its users call it. One program: each would be linked anew.
mod cc;
mod clang;
mod command;
mod common;
mod endings;
mod hostile;
mod layout;
mod projects;
mod run;
#[path = "../../../tests/skipped.rs"]
mod skipped;
