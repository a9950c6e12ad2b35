// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clause on a serial stage.
use crate::curve::Point;
use crate::finding::cause::serial_stage;
use crate::units;
use corefold_explain::Place;

/// `for 60% of the run hardly more than one thread was at work, in merge (sort.c:4)`.
pub fn serial(point: &Point) -> Option<String> {
    let stage = serial_stage(point)?;
    let place = Place { function: stage.name.clone(), file: stage.file.clone(), line: stage.line };
    let of = units::about(stage.percent / 100.0);
    Some(format!("for {of} of the run hardly more than one thread was at work, in {place}"))
}
