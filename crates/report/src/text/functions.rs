// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions by self time, as `perf report` shows them.
use super::screen::{Screen, source};
use crate::curve::Point;
use crate::table::{Align, Table};
use crate::units;
use corefold_explain::Function;

const MOST: usize = 12;
/// In percent of self time; what is below is only counted.
const LEAST_PERCENT: f64 = 0.5;

pub fn section(screen: &Screen, point: &Point) -> String {
    let all = &point.explained.functions;
    let stage = point.explained.stage.as_ref().map(|stage| (&stage.name, &stage.file, stage.line));
    let is_stage = |f: &Function| stage == Some((&f.name, &f.file, f.line));
    let mut shown: Vec<&Function> = all.iter().filter(|f| f.self_percent >= LEAST_PERCENT).take(MOST).collect();
    // What has little time of its own may have all in what it calls.
    let missing = all.iter().filter(|f| is_stage(f) && !shown.iter().any(|shown| std::ptr::eq(*shown, *f)));
    shown.extend(missing.take(1).collect::<Vec<_>>());
    if shown.is_empty() {
        return String::new();
    }
    let columns = [
        ("Overhead", Align::Right),
        ("Children", Align::Right),
        ("Latency", Align::Right),
        ("waiting", Align::Right),
        ("Symbol", Align::Left),
        ("Source", Align::Left),
    ];
    let mut table = Table::new(&columns, &[4]);
    for function in &shown {
        table.row(row(function));
    }
    let mut out =
        screen.title("Functions (shares of CPU time, Latency of the run's; waiting: stalls and spins in Overhead)");
    out += &table.print(screen.width(), screen.style);
    let rest = all.len() - shown.len();
    if rest > 0 {
        let least = if all.get(MOST).is_none_or(|next| next.self_percent < LEAST_PERCENT) {
            format!(" below {LEAST_PERCENT}% Overhead")
        } else {
            String::new()
        };
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
        function.latency_percent.map_or("-".into(), |latency| units::percent(latency / 100.0)),
        units::about(units::share(time.stall + time.spin, on_cpu)),
        function.name.clone(),
        source(function.file.as_deref(), function.line),
    ]
}
