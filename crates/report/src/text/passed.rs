// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uncontended transfers, where they cost something all the same.
use super::screen::{Screen, source};
use crate::curve::Point;
use crate::table::{Align, Table};
use crate::units;
use corefold_explain::{LEAST_PASSED, PassedUse, kind_name};

const MOST: usize = 4;

pub fn section(screen: &Screen, point: &Point) -> String {
    let time = &point.explained.run.time;
    let cpu = time.total() - time.block;
    let dear = |entry: &&PassedUse| units::share(entry.stall, cpu) >= LEAST_PASSED;
    let shown: Vec<&PassedUse> = point.explained.passed.iter().filter(dear).take(MOST).collect();
    if shown.is_empty() {
        return String::new();
    }
    let columns = [
        ("share", Align::Right),
        ("transfers", Align::Right),
        ("access", Align::Left),
        ("object", Align::Left),
        ("in", Align::Left),
        ("source", Align::Left),
    ];
    let mut table = Table::new(&columns, &[3, 4]);
    for entry in shown {
        let place = entry.at.as_ref();
        table.row(vec![
            units::percent(units::share(entry.stall, cpu)),
            units::count(entry.transfers_by_class.iter().sum::<u64>() as f64),
            kind_name(entry.kind).into(),
            entry.object.clone(),
            place.map_or(String::new(), |p| p.function.clone()),
            place.map_or(String::new(), |p| source(p.file.as_deref(), p.line)),
        ]);
    }
    let title = "Uncontended transfers: first touch, read-only, single hand-off (share: of CPU time)";
    screen.title(title) + &table.print(screen.width(), screen.style)
}
