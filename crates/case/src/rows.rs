// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of runs beside published ones.
use crate::figures::{Runs, figure, natively};
use crate::fixes::Fixes;
use crate::interval::Interval;
use crate::native::Native;
use crate::spec::{self, Case};
use anyhow::{Context, Result};
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
pub struct Table {
    pub case: String,
    pub rows: Vec<Row>,
    #[serde(skip)]
    profiles: String,
}

#[derive(Serialize)]
pub struct Row {
    pub what: String,
    pub unit: String,
    pub published: Option<f64>,
    pub simulated: f64,
    /// The 95 % interval, where there were several schedules.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Where this host has the cores for it.
    pub native: Option<f64>,
    /// Null where nothing was published.
    pub within: Option<bool>,
    /// Set by the published figure, so no prediction.
    pub fitted: bool,
    pub reason: Option<String>,
    #[serde(skip)]
    bound: &'static str,
}

pub fn table(name: &str, case: &Case, runs: &Runs, fixes: &Fixes, native: &Native<'_>) -> Result<Table> {
    let rows = case.rows.iter().map(|row| compared(row, case, (runs, fixes), native)).collect::<Result<_>>()?;
    let mut profiles = String::new();
    for profile in &case.profiles {
        let releases = runs[&profile.run][0].releases.as_ref();
        let releases = releases.with_context(|| format!("the run {:?} counted no lock releases", profile.run))?;
        profiles += &releases.text(&profile.what, profile.least);
    }
    Ok(Table { case: name.to_owned(), rows, profiles })
}

fn compared(row: &spec::Row, case: &Case, found: (&Runs, &Fixes), native: &Native<'_>) -> Result<Row> {
    let Interval { mean, half } = figure(&row.figure, found.0, found.1).with_context(|| row.what.clone())?;
    Ok(Row {
        what: row.what.clone(),
        unit: row.unit.clone(),
        published: row.published,
        simulated: rounded(mean),
        low: half.map(|half| rounded(mean - half)),
        high: half.map(|half| rounded(mean + half)),
        native: natively(&row.figure, case, native)?.map(rounded),
        within: row.published.map(|published| within(row, published, mean)),
        fitted: row.fitted,
        reason: row.reason.clone(),
        bound: if row.at_most {
            "<"
        } else if row.at_least {
            ">"
        } else {
            ""
        },
    })
}

fn within(row: &spec::Row, published: f64, simulated: f64) -> bool {
    let room = published.abs() * row.tolerance.unwrap_or(0.0);
    (row.at_least || simulated <= published + room) && (row.at_most || simulated >= published - room)
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
            let published = row.published.map_or("-".into(), |p| format!("{}{p}", row.bound));
            let native = row.native.map_or("-".into(), |n| format!("{n:.2}"));
            let (what, simulated, unit, note) = (&row.what, row.simulated, &row.unit, row.note());
            let _ = writeln!(text, "{what:<widest$}  {published:>10} {simulated:>10.2} {native:>8}  {unit}{note}");
        }
        text + &self.profiles
    }
}

impl Row {
    fn note(&self) -> String {
        let interval = match (self.low, self.high) {
            (Some(low), Some(high)) => format!(", 95 % interval {low:.2} to {high:.2}"),
            _ => String::new(),
        };
        let fitted = if self.fitted { "  (fitted)" } else { "" };
        interval + fitted + if self.within == Some(false) { "  MISSES" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Figure;

    fn row(at_most: bool) -> spec::Row {
        let figure = Figure::Ratio { run: "a".into(), over: "b".into() };
        let (published, tolerance) = (Some(10.0), Some(0.1));
        spec::Row {
            what: "w".into(),
            unit: "u".into(),
            figure,
            published,
            tolerance,
            reason: None,
            at_most,
            at_least: false,
            fitted: false,
        }
    }

    #[test]
    fn a_tolerance_goes_both_ways_unless_it_is_a_bound() {
        for (simulated, close, below) in
            [(10.9, true, true), (11.1, false, false), (9.1, true, true), (2.0, false, true)]
        {
            assert_eq!(within(&row(false), 10.0, simulated), close, "{simulated}");
            assert_eq!(within(&row(true), 10.0, simulated), below, "{simulated}");
            let above = spec::Row { at_least: true, ..row(false) };
            assert_eq!(within(&above, 10.0, simulated), simulated > 9.0, "{simulated}");
        }
    }

    fn simulated() -> Row {
        Row {
            what: "w".into(),
            unit: "%".into(),
            published: Some(10.0),
            simulated: 2.0,
            low: Some(1.5),
            high: Some(2.5),
            native: None,
            within: Some(false),
            fitted: true,
            reason: None,
            bound: "",
        }
    }

    #[test]
    fn a_row_that_misses_says_so() {
        let table = Table { case: "c".into(), rows: vec![simulated()], profiles: "\nbase: 1".into() };
        let text = table.text();
        assert!(text.contains("%, 95 % interval 1.50 to 2.50  (fitted)  MISSES\n\nbase: 1"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&table.json().unwrap()).unwrap();
        assert_eq!(json["rows"][0]["within"], false);
        assert!(json["rows"][0]["native"].is_null());
    }
}
