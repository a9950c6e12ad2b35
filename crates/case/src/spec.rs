// SPDX-License-Identifier: MIT OR Apache-2.0
//! `case.toml`.
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Stands for a file that the program writes its own results to, as JSON.
pub const RESULTS: &str = "{results}";
/// Stands for 1, 2, ... in runs that are repeated.
pub const SEED: &str = "{seed}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub title: String,
    pub machine: String,
    /// The source file, or a folder whose C files are all compiled: from the case's folder on.
    pub program: String,
    #[serde(default)]
    pub library: Library,
    /// Flags that the program and the kit are compiled with, by the names that runs use; a run without one has none.
    #[serde(default)]
    pub builds: BTreeMap<String, Build>,
    /// What `{NAME}` stands for in the runs' arguments, with why it is what it is.
    #[serde(default)]
    pub set: BTreeMap<String, Setting>,
    pub runs: BTreeMap<String, Run>,
    /// What `corefold fix` is asked of recordings of these runs, by name.
    #[serde(default)]
    pub fixes: BTreeMap<String, Fix>,
    pub rows: Vec<Row>,
    /// Printed below the rows.
    #[serde(default)]
    pub profiles: Vec<Profile>,
    /// Where it was read from.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// The part of the kit that is compiled in.
#[derive(Deserialize, Default, PartialEq, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Library {
    #[default]
    Kit,
    /// The file-system half too, and liburcu.
    Vfs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    pub flags: Vec<String>,
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
    /// `{cpus}`, `{case}` (its folder), [`RESULTS`], [`SEED`], and the names in [`Case::set`], are replaced.
    pub args: String,
    pub build: Option<String>,
    /// Instead of the case's.
    pub machine: Option<String>,
    /// As often, with `{seed}` 1, 2, ... in the arguments, which the program draws its work from: figures get a 95 %
    /// interval.
    #[serde(default = "once")]
    pub seeds: u64,
}

fn once() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    pub run: String,
    /// A run of the same build that the layouts are weighed by.
    pub also: String,
}

/// What is asked of a layout.
#[derive(Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// What it gains where the objects are, in percent.
    Gain,
    /// What it gains in the other run.
    Also,
    /// Its place in the ranking, from 1 on.
    Rank,
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
    /// Why that tolerance; of a row without one, what its figure is not.
    pub reason: Option<String>,
    /// What was published is an upper bound.
    #[serde(default)]
    pub at_most: bool,
    /// Or a lower one.
    #[serde(default)]
    pub at_least: bool,
    /// Set by a published figure, so no prediction.
    #[serde(default)]
    pub fitted: bool,
}

/// The lock releases of a run by caller, of those above `least` percent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub what: String,
    pub run: String,
    pub least: f64,
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
    /// Throughput in operations per microsecond.
    Rate { run: String },
    /// Throughput in percent of a target rate: the one of which the run `of` reaches so many percent.
    Target { run: String, of: String, reaches: f64 },
    /// A layout that a fix tried: the first whose words begin so; of throughput, in percent.
    Layout { fix: String, layout: String, asked: Asked },
    /// Lock releases by callers in these source files (none: in any) for each operation.
    Releases { run: String, files: Vec<String> },
    /// Their share of all lock releases, in percent.
    ReleaseShare { run: String, files: Vec<String>, others: Option<Others> },
    /// All lock releases for each operation, over those of another run.
    ReleaseRatio { run: String, over: String, others: Option<Others> },
}

/// Releases for each operation by code that is not simulated: as many as let these files have this share in this run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Others {
    pub run: String,
    pub files: Vec<String>,
    pub share: f64,
}

impl Figure {
    /// The fix that it is taken from.
    pub fn fix(&self) -> Option<&str> {
        match self {
            Figure::Layout { fix, .. } => Some(fix),
            _ => None,
        }
    }

    pub fn runs(&self) -> Vec<&str> {
        match self {
            Figure::Share { run, .. } | Figure::Rate { run } | Figure::Releases { run, .. } => vec![run],
            Figure::Gain { run, over } | Figure::Ratio { run, over } | Figure::Target { run, of: over, .. } => {
                vec![run, over]
            }
            Figure::Layout { .. } => Vec::new(),
            Figure::ReleaseShare { run, others, .. } => with(vec![run], others),
            Figure::ReleaseRatio { run, over, others } => with(vec![run, over], others),
        }
    }
}

fn with<'a>(mut runs: Vec<&'a str>, others: &'a Option<Others>) -> Vec<&'a str> {
    runs.extend(others.iter().map(|others| others.run.as_str()));
    runs
}

impl Case {
    /// A run's arguments, for so many CPUs; [`RESULTS`] and [`SEED`] are left in.
    pub fn arguments(&self, run: &Run) -> Vec<String> {
        let mut text = run.args.replace("{cpus}", &run.cpus.to_string());
        for (name, setting) in &self.set {
            text = text.replace(&format!("{{{name}}}"), &setting.value.to_string());
        }
        let folder = self.folder.to_string_lossy();
        text.split_whitespace().map(|arg| arg.replace("{case}", &folder)).collect()
    }

    fn check_runs(&self) -> Result<()> {
        for (name, fix) in &self.fixes {
            for run in [&fix.run, &fix.also] {
                if self.runs.get(run).is_none_or(|run| run.seeds > 1) {
                    bail!("the fix {name:?} names a run {run:?} that does not exist, or has several seeds");
                }
            }
        }
        for (name, run) in &self.runs {
            let unknown = |arg: &String| arg.replace(RESULTS, "").replace(SEED, "").contains('{');
            if let Some(left) = self.arguments(run).into_iter().find(unknown) {
                bail!("no setting gives a value to {left} in {:?}", run.args);
            }
            if let Some(build) = run.build.as_ref().filter(|build| !self.builds.contains_key(*build)) {
                bail!("the run {name:?} names a build {build:?} that does not exist");
            }
            if run.seeds == 0 || (run.seeds > 1) != run.args.contains(SEED) {
                bail!("the run {name:?} needs {SEED} in its arguments if it has seeds, of which one is none");
            }
        }
        Ok(())
    }
}

pub fn load(folder: &Path) -> Result<Case> {
    let path = folder.join("case.toml");
    let text = corefold_files::read_text(&path, 16 << 20).with_context(|| format!("cannot read {}", path.display()))?;
    let case = parse(&text).with_context(|| path.display().to_string())?;
    Ok(Case { folder: folder.to_owned(), ..case })
}

fn parse(text: &str) -> Result<Case> {
    let case: Case = toml::from_str(text)?;
    for row in &case.rows {
        if let Some(run) = row.figure.runs().into_iter().find(|run| !case.runs.contains_key(*run)) {
            bail!("the row {:?} names a run {run:?} that does not exist", row.what);
        }
        if let Some(fix) = row.figure.fix().filter(|fix| !case.fixes.contains_key(*fix)) {
            bail!("the row {:?} names a fix {fix:?} that does not exist", row.what);
        }
        if row.published.is_some() != row.tolerance.is_some() || (row.tolerance.is_some() && row.reason.is_none()) {
            bail!("the row {:?} needs all of published, tolerance and reason, or none", row.what);
        }
    }
    if let Some(profile) = case.profiles.iter().find(|profile| !case.runs.contains_key(&profile.run)) {
        bail!("the profile {:?} names a run {:?} that does not exist", profile.what, profile.run);
    }
    case.check_runs()?;
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "
        title = 't'\nmachine = 'm'\nprogram = 'p.c'\nset.work = { value = 7, reason = 'r' }
        builds.b = { flags = ['-DX=1'] }
        runs.a = { cpus = 80, build = 'b', args = 'x {cpus} {work} {results}' }
        [[rows]]\nwhat = 'w'\nunit = '%'\nfigure.share = { run = 'a', functions = ['f'] }
        [[rows]]\nwhat = 'l'\nunit = '%'
        figure.release_share = { run = 'a', files = ['f'], others = { run = 'a', files = ['f'], share = 10.0 } }
        [[profiles]]\nwhat = 'p'\nrun = 'a'\nleast = 0.5\n";

    #[test]
    fn arguments_are_filled_in() {
        let case = parse(CASE).unwrap();
        assert_eq!(case.arguments(&case.runs["a"]), ["x", "80", "7", RESULTS]);
        assert_eq!(case.runs["a"].seeds, 1);
        assert_eq!(case.library, Library::Kit);
    }

    #[test]
    fn mistakes_are_told() {
        for (from, to, told) in [
            ("run = 'a', functions", "run = 'b', functions", "a run \"b\" that does not exist"),
            ("others = { run = 'a'", "others = { run = 'c'", "a run \"c\" that does not exist"),
            (
                "figure.share = { run = 'a', functions = ['f'] }",
                "figure.layout = { fix = 'x', layout = 'l', asked = 'gain' }",
                "a fix \"x\" that does not exist",
            ),
            (
                "[[rows]]\nwhat = 'w'",
                "fixes.x = { run = 'a', also = 'z' }\n[[rows]]\nwhat = 'w'",
                "a run \"z\" that does not exist",
            ),
            ("run = 'a'\nleast", "run = 'd'\nleast", "a run \"d\" that does not exist"),
            ("build = 'b'", "build = 'c'", "a build \"c\" that does not exist"),
            ("cpus = 80", "seeds = 0, cpus = 80", "needs {seed} in its arguments"),
            ("cpus = 80", "seeds = 2, cpus = 80", "needs {seed} in its arguments"),
            (
                "functions = ['f'] }",
                "functions = ['f'] }\npublished = 1",
                "needs all of published, tolerance and reason",
            ),
            ("{work}", "{wrok}", "no setting gives a value to {wrok}"),
            ("what = 'w'", "what = 'w'\nwhy = 1", "unknown field `why`"),
        ] {
            let error = parse(&CASE.replace(from, to)).err().map(|e| format!("{e:#}")).unwrap_or_default();
            assert!(error.contains(told), "{error}");
        }
    }
}
