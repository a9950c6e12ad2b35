// SPDX-License-Identifier: MIT OR Apache-2.0
mod idleness;
mod lines;
mod locks;
mod scaling;

use super::{Finding, finding};
use crate::Work;
use crate::curve::Curve;
use crate::sample::*;
use corefold_explain::Explained;

fn found(runs: &[Explained]) -> Finding {
    finding(&Curve::new(runs, Work::Total))
}

fn said(runs: &[Explained]) -> String {
    found(runs).text()
}

/// A run of 8 CPUs whose hottest line costs this share of its CPU time, in percent.
fn with_line(percent: u64) -> Vec<Explained> {
    let mut run = spend(timed(8, 1_000_000), 40, 60, 0, 0);
    run.lines = vec![hot_line(0x1000, "counter (c.c:1)", percent * 80_000)];
    vec![timed(1, 1_000_000), run]
}
