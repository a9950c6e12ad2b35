// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions by self time, as `perf report` shows them.
use super::{Screen, source};
use crate::curve::Point;
use crate::table::{Align, Table};
use crate::units;
use corefold_explain::Function;

const MOST: usize = 12;
/// In percent of self time; what is below is only counted.
const LEAST_PERCENT: f64 = 0.5;

pub fn section(screen: &Screen, point: &Point) -> String {
    let all = &point.explained.functions;
    let shown: Vec<&Function> = all.iter().filter(|f| f.self_percent >= LEAST_PERCENT).take(MOST).collect();
    if shown.is_empty() {
        return String::new();
    }
    let columns = [
        ("Overhead", Align::Right),
        ("Children", Align::Right),
        ("waiting", Align::Right),
        ("Symbol", Align::Left),
        ("Source", Align::Left),
    ];
    let mut table = Table::new(&columns, &[3]);
    for function in &shown {
        table.row(row(function));
    }
    let mut out = screen.title("Functions (shares of CPU time; waiting: the part of Overhead that stalls or spins)");
    out += &table.print(screen.width(), screen.style);
    let rest = all.len() - shown.len();
    if rest > 0 {
        let least = if shown.len() < MOST { format!(" below {LEAST_PERCENT}%") } else { String::new() };
        out += &screen.footer(&format!("and {rest} more{least}"));
    }
    out
}

fn row(function: &Function) -> Vec<String> {
    let time = function.self_time;
    let on_cpu = time.total() - time.block;
    vec![
        units::percent(function.self_percent / 100.0),
        units::percent(function.total_percent / 100.0),
        units::about(units::share(time.stall + time.spin, on_cpu)),
        function.name.clone(),
        source(function.file.as_deref(), function.line),
    ]
}
