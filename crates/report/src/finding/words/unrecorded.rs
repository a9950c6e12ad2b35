// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines that the recording has no room for.
use crate::curve::Point;
use crate::finding::cause::{SIGNIFICANT, cpu_time, unrecorded};
use crate::units;

/// Said of lines.
pub const NOT_RECORDED: &str = "are not recorded, as only the hottest are";

/// The share of CPU time that waits for them, if it is significant.
pub fn not_recorded(point: &Point) -> Option<String> {
    let share = units::share(unrecorded(point.explained), cpu_time(point));
    (share >= SIGNIFICANT).then(|| units::about(share))
}
