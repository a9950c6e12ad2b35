// SPDX-License-Identifier: MIT OR Apache-2.0
//! `case.toml`.
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub title: String,
    pub machine: String,
    /// The source file, in the case's folder.
    pub program: String,
    /// What `{NAME}` stands for in the runs' arguments, with why it is what it is.
    #[serde(default)]
    pub set: BTreeMap<String, Setting>,
    pub runs: BTreeMap<String, Run>,
    pub rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    pub value: i64,
    #[expect(dead_code, reason = "for readers of the file, which must have it")]
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub cpus: u32,
    /// `{cpus}`, and the names in [`Case::set`], are replaced.
    pub args: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub what: String,
    pub unit: String,
    pub figure: Figure,
    pub published: Option<f64>,
    /// Relative: 0.1 is 10 %.
    pub tolerance: Option<f64>,
    /// Why that tolerance.
    pub reason: Option<String>,
    /// What was published is an upper bound.
    #[serde(default)]
    pub at_most: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Figure {
    /// The share of CPU time of these functions and what they call; none may call another of them.
    Share { run: String, functions: Vec<String> },
    /// The throughput of one run over another's, less one, in percent.
    Gain { run: String, over: String },
    /// The throughput of one run over another's.
    Ratio { run: String, over: String },
}

impl Figure {
    pub fn runs(&self) -> Vec<&str> {
        match self {
            Figure::Share { run, .. } => vec![run],
            Figure::Gain { run, over } | Figure::Ratio { run, over } => vec![run, over],
        }
    }
}

impl Case {
    /// A run's arguments, for so many CPUs.
    pub fn arguments(&self, run: &Run) -> Vec<String> {
        let mut text = run.args.replace("{cpus}", &run.cpus.to_string());
        for (name, setting) in &self.set {
            text = text.replace(&format!("{{{name}}}"), &setting.value.to_string());
        }
        text.split_whitespace().map(str::to_owned).collect()
    }
}

pub fn load(folder: &Path) -> Result<Case> {
    let path = folder.join("case.toml");
    let text = corefold_files::read_text(&path, 16 << 20).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> Result<Case> {
    let case: Case = toml::from_str(text)?;
    for row in &case.rows {
        if let Some(run) = row.figure.runs().into_iter().find(|run| !case.runs.contains_key(*run)) {
            bail!("the row {:?} names a run {run:?} that does not exist", row.what);
        }
        if row.published.is_some() != row.tolerance.is_some() || row.tolerance.is_some() != row.reason.is_some() {
            bail!("the row {:?} needs all of published, tolerance and reason, or none", row.what);
        }
    }
    for run in case.runs.values() {
        if let Some(left) = case.arguments(run).into_iter().find(|arg| arg.contains('{')) {
            bail!("no setting gives a value to {left} in {:?}", run.args);
        }
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "
        title = 't'\nmachine = 'm'\nprogram = 'p.c'\nset.work = { value = 7, reason = 'r' }
        runs.a = { cpus = 80, args = 'x {cpus} {work}' }
        [[rows]]\nwhat = 'w'\nunit = '%'\nfigure.share = { run = 'a', functions = ['f'] }\n";

    #[test]
    fn arguments_are_filled_in() {
        let case = parse(CASE).unwrap();
        assert_eq!(case.arguments(&case.runs["a"]), ["x", "80", "7"]);
    }

    #[test]
    fn mistakes_are_told() {
        for (from, to, told) in [
            ("run = 'a'", "run = 'b'", "a run \"b\" that does not exist"),
            ("unit = '%'", "unit = '%'\npublished = 1", "needs all of published, tolerance and reason"),
            ("{work}", "{wrok}", "no setting gives a value to {wrok}"),
            ("what = 'w'", "what = 'w'\nwhy = 1", "unknown field `why`"),
        ] {
            let error = parse(&CASE.replace(from, to)).err().map(|e| format!("{e:#}")).unwrap_or_default();
            assert!(error.contains(told), "{error}");
        }
    }
}
