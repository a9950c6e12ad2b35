// SPDX-License-Identifier: MIT OR Apache-2.0
//! The curve: table, plot and law.
use super::screen::Screen;
use crate::curve::{Curve, Point, visits};
use crate::law;
use crate::pace::Basis;
use crate::plot::plot;
use crate::style::wrap;
use crate::table::{Align, Table};
use crate::units;

/// Characters of the efficiency bar at 100 %.
const BAR: usize = 20;
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

pub fn section(screen: &Screen, curve: &Curve) -> String {
    let mut out = screen.title(&format!("Scaling ({})", reckoned(curve)));
    out += &table(screen, curve).print(screen.width(), screen.style);
    out += &progress(screen, curve);
    let speedups: Vec<_> = curve.finished().filter_map(|p| Some((p.cpus(), p.speedup?))).collect();
    let picture = plot(&speedups, screen.width(), screen.options.ascii, screen.style);
    if !picture.is_empty() {
        out += &format!("\n{picture}");
    }
    // Not beside a failed run, nor with one or two counts, which are too few for a fit.
    if curve.points.len() > 2 && curve.failed().next().is_none() {
        out += &format!("\n{}", wrap(&law::sentences(curve), screen.width(), 2));
    }
    out
}

/// How speed-up is computed, or why it is not.
fn reckoned(curve: &Curve) -> String {
    match curve.points.iter().any(|p| p.speedup.is_some()) {
        true => format!("speed-up: {}", curve.how()),
        false if matches!(curve.basis, Basis::FixedTime { .. }) => {
            "no speed-up: how much work was done is not known".into()
        }
        false if !curve.without_visits().is_empty() => "no speed-up: smaller counts visited no progress point".into(),
        false => "no speed-up: there is no smaller count that finished".into(),
    }
}

fn table(screen: &Screen, curve: &Curve) -> Table {
    let throughput = curve.points.iter().any(|p| p.throughput.is_some());
    let mut columns = vec![("CPUs", Align::Right), ("virtual time", Align::Right)];
    if throughput {
        columns.push(("throughput", Align::Right));
    }
    columns.extend([("speed-up", Align::Right), ("efficiency", Align::Right), ("", Align::Left)]);
    let mut table = Table::new(&columns, &[columns.len() - 1]);
    for point in &curve.points {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let time = Some(point.explained.run.seconds).filter(|s| *s > 0.0).map(units::duration);
        let mut row = vec![point.cpus().to_string(), or_dash(time)];
        if throughput {
            row.push(or_dash(point.throughput.map(units::rate)));
        }
        row.push(or_dash(point.speedup.map(|s| units::factor(s) + "×")));
        row.push(or_dash(point.efficiency.map(units::about)));
        row.push(tail(screen, point));
        table.row(row);
    }
    table
}

/// The bar, or why there is none.
fn tail(screen: &Screen, point: &Point) -> String {
    match (point.finished(), point.efficiency) {
        (true, Some(efficiency)) => bar(efficiency, screen.options.ascii),
        (true, None) => String::new(),
        // What cannot be simulated is explained elsewhere.
        (false, _) => match point.explained.ending.summary.split_once(": ") {
            Some((short @ "cannot be simulated", _)) => short.to_owned(),
            _ => point.explained.ending.summary.clone(),
        },
    }
}

fn bar(efficiency: f64, ascii: bool) -> String {
    let eighths = (efficiency.clamp(0.0, 1.25) * (BAR * 8) as f64).round() as usize;
    if ascii { "#".repeat(eighths.div_ceil(8)) } else { "█".repeat(eighths / 8) + EIGHTHS[eighths % 8] }
}

/// A column a progress point, where there are several: the curve has only their sum.
fn progress(screen: &Screen, curve: &Curve) -> String {
    let Basis::Progress(names) = &curve.basis else {
        return String::new();
    };
    if names.len() < 2 {
        return String::new();
    }
    let mut table = Table::new(&[("progress point", Align::Left), ("", Align::Left)], &[0]);
    for name in names {
        let rates = curve.finished().map(|p| {
            let run = &p.explained.run;
            let mine = run.progress.iter().filter(|p| p.name == *name).map(|p| p.visits).sum::<u64>();
            let share = units::share(mine, visits(p.explained));
            format!("{} at {} ({})", units::rate(mine as f64 / run.seconds), run.cpus, units::about(share))
        });
        let rates: Vec<String> = rates.collect();
        let ends = if rates.len() > 1 { vec![&rates[0], &rates[rates.len() - 1]] } else { rates.iter().collect() };
        table.row(vec![name.clone(), ends.into_iter().cloned().collect::<Vec<_>>().join(", ")]);
    }
    format!("\n{}", table.print(screen.width(), screen.style))
}
