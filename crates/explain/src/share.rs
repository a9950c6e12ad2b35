// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time on a CPU, and shares in percent.
use corefold_recording::Time;

pub(crate) fn on_cpu(time: &Time) -> u64 {
    time.compute + time.stall + time.spin
}

/// `part` of `whole` in percent; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}
