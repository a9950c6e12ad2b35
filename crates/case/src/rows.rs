// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of runs beside published ones.
use crate::native::Native;
use crate::simulate::Simulated;
use crate::spec::{self, Case, Figure};
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;

#[derive(Serialize)]
pub struct Table {
    pub case: String,
    pub rows: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    pub what: String,
    pub unit: String,
    pub published: Option<f64>,
    pub simulated: f64,
    /// Where this host has the cores for it.
    pub native: Option<f64>,
    /// Null where nothing was published.
    pub within: Option<bool>,
    #[serde(skip)]
    at_most: bool,
}

pub fn table(name: &str, case: &Case, runs: &HashMap<String, Simulated>, native: &Native) -> Result<Table> {
    let rows = case.rows.iter().map(|row| compared(row, case, runs, native)).collect::<Result<_>>()?;
    Ok(Table { case: name.to_owned(), rows })
}

fn compared(row: &spec::Row, case: &Case, runs: &HashMap<String, Simulated>, native: &Native) -> Result<Row> {
    let simulated = figure(&row.figure, runs).with_context(|| row.what.clone())?;
    Ok(Row {
        what: row.what.clone(),
        unit: row.unit.clone(),
        published: row.published,
        simulated: rounded(simulated),
        native: natively(&row.figure, case, native)?.map(rounded),
        within: row.published.map(|published| within(row, published, simulated)),
        at_most: row.at_most,
    })
}

fn within(row: &spec::Row, published: f64, simulated: f64) -> bool {
    let room = published.abs() * row.tolerance.unwrap_or(0.0);
    simulated <= published + room && (row.at_most || simulated >= published - room)
}

fn figure(figure: &Figure, runs: &HashMap<String, Simulated>) -> Result<f64> {
    let throughput = |run: &String| runs[run].throughput.with_context(|| format!("the run {run:?} made no progress"));
    Ok(match figure {
        Figure::Share { run, functions } => {
            let all = runs[run].functions.iter().filter(|f| functions.contains(&f.name));
            all.map(|f| f.total_percent).sum()
        }
        Figure::Gain { run, over } => (throughput(run)? / throughput(over)? - 1.0) * 100.0,
        Figure::Ratio { run, over } => throughput(run)? / throughput(over)?,
    })
}

fn natively(figure: &Figure, case: &Case, native: &Native) -> Result<Option<f64>> {
    let (Figure::Gain { run, over } | Figure::Ratio { run, over }) = figure else { return Ok(None) };
    let (run, over) = (&case.runs[run], &case.runs[over]);
    if !Native::has(run.cpus.max(over.cpus)) {
        return Ok(None);
    }
    let ratio = native.throughput(&case.arguments(run))? / native.throughput(&case.arguments(over))?;
    Ok(Some(if matches!(figure, Figure::Gain { .. }) { (ratio - 1.0) * 100.0 } else { ratio }))
}

/// To what a table shows.
fn rounded(figure: f64) -> f64 {
    let rounded = (figure * 1000.0).round() / 1000.0;
    if rounded == 0.0 { 0.0 } else { rounded }
}

impl Table {
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn text(&self) -> String {
        let widest = self.rows.iter().map(|row| row.what.chars().count()).max().unwrap_or(0);
        let mut text =
            format!("{:<widest$}  {:>10} {:>10} {:>8}  unit\n", self.case, "published", "simulated", "native");
        for row in &self.rows {
            let published = row.published.map_or("-".into(), |p| format!("{}{p}", if row.at_most { "<" } else { "" }));
            let native = row.native.map_or("-".into(), |n| format!("{n:.2}"));
            let missed = if row.within == Some(false) { "  MISSES" } else { "" };
            let (what, simulated, unit) = (&row.what, row.simulated, &row.unit);
            let _ = writeln!(text, "{what:<widest$}  {published:>10} {simulated:>10.2} {native:>8}  {unit}{missed}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at_most: bool) -> spec::Row {
        let figure = Figure::Ratio { run: "a".into(), over: "b".into() };
        let (published, tolerance) = (Some(10.0), Some(0.1));
        spec::Row { what: "w".into(), unit: "u".into(), figure, published, tolerance, reason: None, at_most }
    }

    #[test]
    fn a_tolerance_goes_both_ways_unless_it_is_a_bound() {
        for (simulated, close, below) in
            [(10.9, true, true), (11.1, false, false), (9.1, true, true), (2.0, false, true)]
        {
            assert_eq!(within(&row(false), 10.0, simulated), close, "{simulated}");
            assert_eq!(within(&row(true), 10.0, simulated), below, "{simulated}");
        }
    }

    #[test]
    fn a_row_that_misses_says_so() {
        let row = Row {
            what: "w".into(),
            unit: "%".into(),
            published: Some(10.0),
            simulated: 2.0,
            native: None,
            within: Some(false),
            at_most: false,
        };
        let table = Table { case: "c".into(), rows: vec![row] };
        assert!(table.text().contains("MISSES"), "{}", table.text());
        let json: serde_json::Value = serde_json::from_str(&table.json().unwrap()).unwrap();
        assert_eq!(json["rows"][0]["within"], false);
        assert!(json["rows"][0]["native"].is_null());
    }
}
