// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clause on a serial stage.
use crate::curve::Point;
use crate::finding::cause::scales;
use crate::units;
use corefold_explain::Place;

/// A stage that takes less of the run is not told.
const LONG: f64 = 20.0;

/// `for 60% of the run hardly more than one thread was at work, in merge (sort.c:4)`.
pub fn serial(point: &Point) -> Option<String> {
    let run = &point.explained.run;
    let stage = point.explained.stage.as_ref().filter(|stage| stage.percent >= LONG)?;
    let place = Place { function: stage.name.clone(), file: stage.file.clone(), line: stage.line };
    let of = units::about(stage.percent / 100.0);
    (run.cpus > 1 && run.threads > 1 && !scales(point))
        .then(|| format!("for {of} of the run hardly more than one thread was at work, in {place}"))
}
