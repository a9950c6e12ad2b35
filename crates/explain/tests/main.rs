// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of memory and code, held against compiled programs. One program: each would be linked anew.
mod code;
mod common;
mod declared;
mod globals;
mod heap;
mod heap_cpp;
mod locks;
mod mappings;
mod passed;
mod rust;
mod sharing;
#[path = "../../../tests/skipped.rs"]
mod skipped;
mod stacks;
