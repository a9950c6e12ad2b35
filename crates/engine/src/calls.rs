// SPDX-License-Identifier: MIT OR Apache-2.0
//! The other functions of libc that are stood in for, a file a family.
pub mod allocation;
mod cpus;
pub mod files;
pub mod holding;
pub mod identity;
pub mod io;
pub mod kernel;
pub mod library;
pub mod library_locks;
pub mod limits;
pub mod loaded;
pub mod membarrier;
pub mod memory_policy;
pub mod process;
pub mod random;
pub mod raw;
pub mod shown;
pub mod sleep;
pub mod stdio;
pub mod stream;
pub mod string;
pub mod system_call;
pub mod temporary;
pub mod time;
pub mod timers;
pub mod topology;
pub mod within;
