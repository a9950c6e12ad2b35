// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to simulate, and how.
use corefold_launch::Parking;
use corefold_machine::Machine;
use corefold_recording::Work;
use std::ffi::OsString;
use std::num::NonZero;
use std::time::Duration;

pub struct Options {
    pub machine: Machine,
    /// Counts to simulate; sorted, without duplicates.
    pub cpus: Vec<u32>,
    pub seed: u64,
    pub slack: u64,
    /// Mean cycles between two samples of the profile.
    pub sample_period: u64,
    /// `{cpus}` in an argument stands for the count.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Of the host, for each count.
    pub timeout: Option<Duration>,
    /// The virtual time that a run may take.
    pub longest: Option<Duration>,
    /// Bytes of heap for each count; none: what the host can spare.
    pub memory_limit: Option<u64>,
    /// Counts simulated at once; none: one for each core of the host.
    pub jobs: Option<NonZero<usize>>,
    /// What the recording says for later reports.
    pub work: Work,
    /// Also measure what the runs take of the host.
    pub measure_host: bool,
    /// The program's.
    pub parking: Vec<Parking>,
}
