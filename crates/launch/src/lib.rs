// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the runner tells the engine before a run.
//!
//! The runner writes a [`Launch`] (postcard) to a file, names it in the environment variable
//! [`CONFIG_VARIABLE`], and starts the program with the runtime preloaded, address randomisation off
//! and a fixed stack limit. The engine, when the run ends however it ends, writes a
//! `recording::Run` to [`Launch::output`]. Without the variable the runtime stays out of the way.
#![no_std]
extern crate alloc;

mod relayout;

use alloc::{string::String, vec::Vec};
use core::ffi::CStr;
use corefold_model::Machine;
pub use relayout::{Objects, Part, Relayout};
use serde::{Deserialize, Serialize};

/// Path of the file that holds the encoded [`Launch`].
pub const CONFIG_VARIABLE: &CStr = c"COREFOLD_LAUNCH";
/// File name of the runtime.
pub const RUNTIME: &str = "libcorefold_rt.so";
/// The soft and hard stack limit (bytes) that every run starts with: the kernel places mappings by it.
pub const STACK_LIMIT: u64 = 8 << 20;
/// The engine ends the process with these where the program did not end by itself. The recording's
/// `Status` says the same in full.
pub const EXIT_DEADLOCK: i32 = 90;
pub const EXIT_UNSUPPORTED: i32 = 91;
pub const EXIT_TIMED_OUT: i32 = 92;
pub const EXIT_OUT_OF_MEMORY: i32 = 93;
pub const EXIT_CRASHED: i32 = 94;
pub const EXIT_ENGINE: i32 = 95;
pub const EXIT_LIVELOCK: i32 = 96;
pub const EXIT_USE_AFTER_FREE: i32 = 97;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub machine: Machine,
    /// CPUs the program sees, 1 to `machine.cpus()`.
    pub cpus: u32,
    /// 0: the plain schedule; others draw one of their own.
    pub seed: u64,
    /// Mean cycles between two samples.
    pub sample_period: u64,
    /// Cycles that a CPU may run ahead of the others on private data.
    pub slack: u64,
    /// The program and its arguments, for the recording.
    pub argv: Vec<String>,
    /// Where the engine writes its `Run`.
    pub output: String,
    /// Bytes of heap the program may have; 0: no limit.
    pub memory_limit: u64,
    /// Cycles of virtual time after which a run gets nowhere; 0: no limit.
    pub longest: u64,
    /// No recording is wanted of a run that ends well.
    pub quiet: bool,
    /// Schedules are explored: threads that have only looked at memory for long are taken to do so for ever.
    pub explores: bool,
    /// No CPU runs ahead of another, beyond the slack, and no turn of a spin is skipped: the yardstick for both, which
    /// must change nothing.
    pub step_by_step: bool,
    /// Measure what the run takes of the host, and write it to [`Launch::host_output`].
    pub measure_host: bool,
    /// Objects that are simulated as if their types were laid out anew.
    pub relayouts: Vec<Relayout>,
    pub parking: Vec<Parking>,
}

/// Threads that wait for a lock wait on a word of their own, and have noted the lock's address beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parking {
    /// The word, from the thread pointer.
    pub word: i64,
    /// The lock's address, from the word.
    pub lock: i64,
}

impl Launch {
    /// Where the engine writes its `recording::HostUse`: never into the recording, which is the same each time.
    pub fn host_output(&self) -> String {
        alloc::format!("{}.host", self.output)
    }
}

pub fn encode(launch: &Launch) -> Vec<u8> {
    postcard::to_allocvec(launch).expect("a Launch has only lengths that postcard knows")
}

const UNWRITTEN: &str = "corefold: error ";

/// What the engine leaves in place of a recording that it could not write, because of that error number.
pub fn unwritten(error: i64) -> String {
    alloc::format!("{UNWRITTEN}{error}")
}

/// The error number, if the bytes say that there is no recording.
pub fn error_of_unwritten(bytes: &[u8]) -> Option<i32> {
    core::str::from_utf8(bytes).ok()?.strip_prefix(UNWRITTEN)?.parse().ok()
}

/// `None` if the bytes are not a [`Launch`] of this version.
pub fn decode(bytes: &[u8]) -> Option<Launch> {
    postcard::from_bytes(bytes).ok()
}
