// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recording: what one or more simulated runs leave behind, and all that a report needs beside
//! the binary's debug info.
//!
//! A file is [`MAGIC`], a version byte, a varint count, and that many [`Run`]s, encoded by `postcard`
//! (varints, little endian, fields in the order they stand here). The engine writes one [`Run`] by
//! itself; the runner puts them together. Every list is in an order that depends on the simulated
//! run alone, so equal runs give equal bytes.
//!
//! Units: `cycles` are cycles of the simulated machine; addresses are those of the simulated process.
#![no_std]
extern crate alloc;

mod cpus;
mod file;
mod host;
mod passed;
mod types;

pub use cpus::CpuSet;
pub use file::{Error, MAGIC, VERSION, decode, decode_run, encode, encode_run};
pub use host::{Hooked, HostUse, Unhooked, decode_host, encode_host};
pub use types::*;
