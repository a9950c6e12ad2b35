// SPDX-License-Identifier: MIT OR Apache-2.0
//! The document's shape. `schema` is raised when a key changes its meaning or goes away; keys may be
//! added at any time.
//!
//! Times are cycles of the simulated machine unless a key says seconds. Percentages run from 0 to 100.
use serde::Serialize;
use std::collections::BTreeMap;

pub const SCHEMA: u32 = 1;

/// Transfers by class name, classes that did not occur left out.
pub type Classes = BTreeMap<String, u64>;

#[derive(Serialize)]
pub struct Document<'a> {
    pub schema: u32,
    pub machine: Option<&'a str>,
    pub clock_hz: Option<u64>,
    pub seed: Option<u64>,
    /// `total` or `per-cpu`; decides only where `speedup_from` is `time`.
    pub work: &'static str,
    /// `progress` or `time`; for a program that runs for a fixed time `blocks`, or `nothing` if these are not known.
    pub speedup_from: &'static str,
    pub finding: FindingOut,
    /// Measured on the host, and not the same each time: left out where there is nothing to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Host<'a>>,
    /// Null where nothing was measured.
    pub accuracy: Option<Accuracy<'a>>,
    /// Null with fewer than five counts that finished.
    pub usl: Option<Law>,
    /// By CPUs, the fewest first.
    pub runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
pub struct FindingOut {
    /// `lines`, `lock`, `many lines`, `idle`, `function`, `nothing`, or `unknown`.
    pub cause: &'static str,
    pub text: String,
}

/// What passed on the host and is not in the simulation.
#[derive(Serialize)]
pub struct Host<'a> {
    pub text: String,
    pub runs: &'a [crate::HostRun],
}

/// The error of throughput to expect: what was measured of workloads of this kind.
#[derive(Serialize)]
pub struct Accuracy<'a> {
    /// Null: all kinds.
    pub kind: Option<&'static str>,
    /// The machine, if it is this one; null: all that were measured.
    pub measured_on: Option<&'a str>,
    /// The range of CPUs of these figures, and whether this run is in it; no last: without end.
    pub cpus: (u32, Option<u32>),
    pub measured: bool,
    pub points: usize,
    pub median_error_percent: f64,
    /// Of the worst point: how many times too fast or too slow.
    pub worst_factor: f64,
    pub text: String,
}

/// The Universal Scalability Law, fitted to throughput or else to speed-up.
#[derive(Serialize)]
pub struct Law {
    /// Whether it describes the curve at all; if not, there is no peak.
    pub holds: bool,
    pub lambda: f64,
    pub sigma: f64,
    pub kappa: f64,
    pub r_squared: Option<f64>,
    /// The largest |measured ÷ fitted − 1|.
    pub worst_miss: f64,
    pub peak_cpus: Option<u32>,
    pub peak: Option<f64>,
}

#[derive(Serialize)]
pub struct Run<'a> {
    pub cpus: u32,
    pub cycles: u64,
    pub seconds: f64,
    /// Visits of all progress points a second; null without any, or if the run failed.
    pub throughput: Option<f64>,
    pub speedup: Option<f64>,
    pub efficiency: Option<f64>,
    pub argv: &'a [String],
    pub threads: u32,
    /// Whether the program ended by itself, with exit code 0.
    pub finished: bool,
    pub ending: Ending<'a>,
    pub time: Time,
    pub progress: Vec<Progress<'a>>,
    pub transfers: u64,
    pub transfers_by_class: Classes,
    pub functions: Vec<Function<'a>>,
    pub serial_stage: Option<Stage<'a>>,
    pub lines: Vec<Line<'a>>,
    pub passed: Vec<Passed<'a>>,
    pub locks: Vec<Lock<'a>>,
    pub notes: Vec<Note<'a>>,
}

#[derive(Serialize)]
pub struct Ending<'a> {
    pub summary: &'a str,
    pub details: &'a [String],
    pub stacks: Vec<Stack<'a>>,
    pub held_up: Vec<HeldUp<'a>>,
}

/// What the seed's schedule did to a thread.
#[derive(Serialize)]
pub struct HeldUp<'a> {
    pub thread: u32,
    /// `access`, `preempted` or `wake`.
    pub how: &'a str,
    pub at_ns: f64,
    pub ns: f64,
    pub at: Option<Place<'a>>,
}

#[derive(Serialize)]
pub struct Stack<'a> {
    pub thread: Option<u32>,
    /// Innermost first.
    pub frames: Vec<Place<'a>>,
}

#[derive(Serialize)]
pub struct Place<'a> {
    pub function: &'a str,
    pub file: Option<&'a str>,
    pub line: Option<u32>,
}

/// Cycles, added over threads.
#[derive(Serialize)]
pub struct Time {
    pub compute: u64,
    pub stall: u64,
    pub spin: u64,
    pub block: u64,
}

impl From<corefold_recording::Time> for Time {
    fn from(time: corefold_recording::Time) -> Time {
        Time { compute: time.compute, stall: time.stall, spin: time.spin, block: time.block }
    }
}

#[derive(Serialize)]
pub struct Progress<'a> {
    pub name: &'a str,
    pub visits: u64,
}

#[derive(Serialize)]
pub struct Function<'a> {
    pub name: &'a str,
    pub file: Option<&'a str>,
    pub line: Option<u32>,
    /// Of the time that threads were on a CPU.
    pub self_percent: f64,
    pub total_percent: f64,
    /// Of the run's time.
    pub latency_percent: Option<f64>,
    pub self_time: Time,
}

#[derive(Serialize)]
pub struct Stage<'a> {
    pub name: &'a str,
    pub file: Option<&'a str>,
    pub line: Option<u32>,
    pub percent: f64,
}

#[derive(Serialize)]
pub struct Line<'a> {
    pub address: u64,
    pub object: &'a str,
    pub fields: Vec<&'a str>,
    pub transfers: u64,
    /// Of all the cycles that the run stalled.
    pub stall_percent: f64,
    /// Of all the cycles that the run stalled or spun.
    pub wait_percent: f64,
    /// `false sharing`, `true sharing`, `true and false sharing`, `only read` or `unknown`.
    pub sharing: String,
    pub verdict: &'a str,
    pub cpus: u32,
    pub transfers_by_class: Classes,
    pub stall_cycles: u64,
    pub spin_cycles: u64,
    /// One for each of `fields`.
    pub field_uses: Vec<Field<'a>>,
    pub sites: Vec<Site<'a>>,
}

#[derive(Serialize)]
pub struct Field<'a> {
    pub name: &'a str,
    #[serde(rename = "type")]
    pub type_name: Option<&'a str>,
    /// In the line; negative where the field begins on an earlier one.
    pub offset: i64,
    pub size: u64,
    pub readers: u32,
    pub writers: u32,
    pub transfers: u64,
    pub stall_cycles: u64,
    pub spin_cycles: u64,
    /// `true`, `false`, `true and false`, `lock with data`, or nothing if that is not known.
    pub sharing: &'static str,
    /// Where its object begins on a line.
    pub slot: Option<u64>,
}

#[derive(Serialize)]
pub struct Site<'a> {
    /// The program's own, where a standard library's is inlined into it.
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// `read`, `write`, `atomic load`, `atomic store`, `atomic rmw`, or `split lock`: one on bytes of two lines.
    pub kind: &'static str,
    pub field: &'a str,
    pub transfers: u64,
    pub stall_cycles: u64,
    pub spin_cycles: u64,
    pub cpus: u32,
    /// The functions inlined here, innermost first; empty where there is only the one.
    pub inlined: Vec<Place<'a>>,
}

#[derive(Serialize)]
pub struct Lock<'a> {
    pub name: &'a str,
    pub kind: &'static str,
    /// Its type, where it is a lock of Rust: `Mutex`, `parking_lot RwLock`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_name: Option<&'a str>,
    pub address: u64,
    /// 0: not known, and `contended` is how many waits there were.
    pub acquisitions: u64,
    pub contended: u64,
    pub wait_cycles: u64,
    /// Of `wait_cycles`, what threads waited before they had done any of their work: for the order to begin.
    pub start_cycles: u64,
    pub hold_cycles: u64,
    /// Other locks that a thread waited for while it alone held this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_waiting: Vec<HeldWaiting>,
    /// Where it was waited for longest.
    pub waited_at: Option<Place<'a>>,
    /// Of barriers, those that the program made of a condition variable among them.
    pub barrier: Option<Barrier>,
}

#[derive(Serialize)]
pub struct HeldWaiting {
    pub address: u64,
    pub cycles: u64,
}

#[derive(Serialize)]
pub struct Barrier {
    pub made_of_condition_variable: bool,
    pub threads: u32,
    pub rounds: u64,
    /// The thread that came last most often, and how often.
    pub last_thread: u32,
    pub last_rounds: u64,
    pub timed_rounds: u64,
    pub uneven_cycles: u64,
}

/// Uncontended transfers: first touch, read-only, single hand-off.
#[derive(Serialize)]
pub struct Passed<'a> {
    pub object: &'a str,
    pub kind: &'static str,
    pub at: Option<Place<'a>>,
    pub transfers: u64,
    pub transfers_by_class: Classes,
    pub stall: u64,
    /// Of all stall and spin of the run.
    pub wait_percent: f64,
}

#[derive(Serialize)]
pub struct Note<'a> {
    pub text: &'a str,
    pub count: u64,
    pub at: Option<Place<'a>>,
}
