// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory and string functions: stand-ins for libc's, whose accesses are accounted for line by line, and
//! copying and filling by instruction for the runtime itself.
pub mod copying;
pub mod entry;
mod searching;
