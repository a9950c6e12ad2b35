// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's mappings.
pub mod mapping;
pub mod shared;
