// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each mechanism of the model does, shown by a machine with it and one without.
mod caches;
#[path = "../common/mod.rs"]
mod common;
mod lab;
mod loads;
mod memory;
mod stores;
mod transfers;
