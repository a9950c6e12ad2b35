// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks, and whatever else threads wait for, by wait.
use super::screen::{Screen, source};
use crate::curve::Point;
use crate::locks::{LockGroup, groups};
use crate::table::{Align, Table};
use crate::units;

const MOST: usize = 8;
/// Locks that nobody waited for this share of thread time are only counted.
const LEAST: f64 = 0.001;

pub fn section(screen: &Screen, point: &Point) -> String {
    let run = &point.explained.run;
    let all = groups(point.explained);
    let waited = |l: &&LockGroup| units::share(l.wait_cycles, run.time.total()) >= LEAST;
    let shown: Vec<&LockGroup> = all.iter().filter(waited).take(MOST).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut out = screen.title("Locks by wait (share: of thread time; wait, hold: average)");
    if !shown.is_empty() {
        out += &table(&shown, point).print(screen.width(), screen.style);
    }
    let (rest, least) = (all.len() - shown.len(), units::about(LEAST));
    match (rest, shown.len()) {
        (0, _) => {}
        (_, 0) => out += &screen.footer(&format!("none that costs {least} of thread time ({rest} used)")),
        (_, MOST) => out += &screen.footer(&format!("and {rest} more")),
        _ => out += &screen.footer(&format!("and {rest} more below {least} of thread time")),
    }
    out
}

fn table(shown: &[&LockGroup], point: &Point) -> Table {
    let columns = [
        ("share", Align::Right),
        ("taken", Align::Right),
        ("contended", Align::Right),
        ("wait", Align::Right),
        ("hold", Align::Right),
        ("lock", Align::Left),
        ("waited in", Align::Left),
        ("source", Align::Left),
    ];
    let mut table = Table::new(&columns, &[5, 6]);
    for lock in shown {
        table.row(row(lock, point));
    }
    table
}

fn row(lock: &LockGroup, point: &Point) -> Vec<String> {
    let (run, place) = (&point.explained.run, lock.worst().waited_at.as_ref());
    let seconds = |cycles: u64, times: u64| match (cycles, times) {
        (0, _) | (_, 0) => "-".into(),
        _ => units::duration(cycles as f64 / times as f64 / run.clock_hz.max(1) as f64),
    };
    vec![
        units::percent(units::share(lock.wait_cycles, run.time.total())),
        if lock.acquisitions == 0 { "-".into() } else { units::count(lock.acquisitions as f64) },
        contended(lock),
        seconds(lock.wait_cycles, lock.contended),
        seconds(lock.hold_cycles, lock.acquisitions),
        name(lock),
        place.map_or(String::new(), |p| p.function.clone()),
        place.map_or(String::new(), |p| source(p.file.as_deref(), p.line)),
    ]
}

/// The share of acquisitions that had to wait; where those are not known, how many waits there were.
fn contended(lock: &LockGroup) -> String {
    match lock.acquisitions {
        0 => units::counts(lock.contended, "wait"),
        all => units::about(units::share(lock.contended, all)),
    }
}

/// The kind is said unless the name says it, and how many there are.
fn name(lock: &LockGroup) -> String {
    let said = match (lock.locks.len(), lock.kind_name()) {
        (1, None) => return lock.name(),
        (1, Some(kind)) => kind.to_owned(),
        (several, kind) => format!("{several} × {}", kind.unwrap_or("lock")),
    };
    format!("{} ({said})", lock.name())
}
