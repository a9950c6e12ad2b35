// SPDX-License-Identifier: MIT OR Apache-2.0
//! Does the headline name the culprit? Programs with a known fault, and twins without it: what the headline has to name is
//! written down in `accuracy/culprits`, before its first result is seen (for Rust's, and for some of public packages, after the
//! first reports: the files say for which).
use crate::bench::Bench;
use crate::layouts::{self, Layout};
use crate::packages::Unavailable;
use crate::progress::Progress;
use crate::side_by_side::side_by_side;
use anyhow::{Context, Result, ensure};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The numbers of CPUs that each program is simulated with; both have to name the culprit.
pub const CPUS: [u32; 2] = [8, 80];

/// A file of `accuracy/culprits`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// How suites are prepared, in place of what they say themselves.
    #[serde(default)]
    prepare: BTreeMap<String, String>,
    culprit: Vec<Culprit>,
}

/// A program with one fault, and its twin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Culprit {
    pub name: String,
    /// The fault, in a line, and who published it.
    pub what: String,
    pub source: String,
    /// A file of `accuracy/culprits`; `-DTWIN` makes the twin of it. Of Rust: a program of its folder `rust`, where the
    /// feature `twin` does. With `suite`: a program of that public package.
    pub program: String,
    /// Operations in all; the twin's, which take less time, if they are more.
    #[serde(default)]
    work: u64,
    twin_work: Option<u64>,
    /// Of `tests/suites`.
    suite: Option<String>,
    /// What it is prepared with, if not with what the suite says.
    #[serde(skip)]
    prepare: BTreeMap<String, String>,
    directory: Option<String>,
    /// In place of the threads and `work`. `{cpus}` and `{half}` stand for the number of CPUs and half of it.
    arguments: Option<String>,
    twin: Option<Twin>,
    /// What the headline has to say: all of these, of the words between bars one.
    named: Vec<String>,
    kind: String,
    fix: Fixes,
}

/// The innocent program of a public package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Twin {
    suite: Option<String>,
    directory: Option<String>,
    program: String,
    arguments: String,
}

/// What helps.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fix {
    /// Padding or alignment.
    Separate,
    /// A part for each CPU, or fewer updates.
    Spread,
    /// One writer writes less often.
    Seldom,
    /// Hold a lock for less time, or split it.
    Split,
    /// Readers that do not write to the lock.
    Readers,
    /// An object of the C library for each thread.
    Own,
    /// Equal shares of the work between barriers.
    Even,
}

impl Fix {
    fn is_in(self, headline: &str) -> bool {
        let has = |words: &str| headline.contains(words);
        match self {
            Fix::Separate => has("would separate"),
            Fix::Spread => has("a part for each CPU"),
            Fix::Seldom => has("fewer writes by the one writer"),
            Fix::Split => has("split what it guards"),
            Fix::Readers => has("a lock that they do not write to"),
            Fix::Own => has("for each thread"),
            Fix::Even => has("even out the threads' shares"),
        }
    }
}

/// One of several, between bars.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Fixes(Vec<Fix>);

impl TryFrom<String> for Fixes {
    type Error = serde::de::value::Error;

    fn try_from(text: String) -> Result<Fixes, Self::Error> {
        text.split('|').map(|fix| Fix::deserialize(fix.into_deserializer())).collect::<Result<_, _>>().map(Fixes)
    }
}

/// What one program's reports said.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Score {
    pub name: String,
    pub what: String,
    pub source: String,
    /// A program of a public package, unmodified.
    pub public: bool,
    pub at: Vec<Verdict>,
    /// Of false sharing: what `corefold fix` proposes first; `None`: nothing, or it was not asked.
    #[serde(default)]
    pub layout: Option<Layout>,
    #[serde(default)]
    pub asked_for_layouts: bool,
}

/// At one number of CPUs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Verdict {
    pub cpus: u32,
    /// Missing in the headline: names, kind, fix.
    pub missing: Vec<String>,
    pub headline: String,
    /// What the twin is accused of.
    pub accused: Option<String>,
}

impl Score {
    /// Judges the saved headlines by what is asked for now.
    pub fn judge(&mut self, culprit: &Culprit) {
        (self.what, self.source) = (culprit.what.clone(), culprit.source.clone());
        for verdict in &mut self.at {
            verdict.missing = culprit.missing(&verdict.headline);
        }
    }

    pub fn is_named(&self) -> bool {
        self.at.iter().all(|verdict| verdict.missing.is_empty())
    }

    pub fn twin_is_accused(&self) -> bool {
        self.at.iter().any(|verdict| verdict.accused.is_some())
    }
}

impl Culprit {
    /// What the headline does not say.
    fn missing(&self, headline: &str) -> Vec<String> {
        let said = without_places(headline);
        let lower = said.to_lowercase().replace("true and false sharing", "both kinds of sharing");
        let any = |words: &str| words.split('|').any(|word| lower.contains(&word.to_lowercase()));
        let mut missing: Vec<String> = self.named.iter().filter(|words| !any(words)).cloned().collect();
        if !any(&self.kind) {
            missing.push(self.kind.clone());
        }
        if !self.fix.0.iter().any(|fix| fix.is_in(headline)) {
            missing.push(format!("fix: {:?}", self.fix.0[0]).to_lowercase());
        }
        missing
    }

    /// In `accuracy`.
    fn file(&self) -> String {
        format!("culprits/{}", self.program)
    }

    /// The name of a program of Rust.
    fn of_rust(&self) -> Option<&str> {
        self.program.strip_suffix(".rs")
    }

    /// The twin of a public program is another program; layouts of Rust are the compiler's.
    pub fn asks_for_layouts(&self) -> bool {
        self.suite.is_none() && self.of_rust().is_none() && self.fix.0.iter().any(|fix| matches!(fix, Fix::Separate))
    }

    pub fn has(&self, text: &str) -> bool {
        self.name.contains(text) || self.suite.as_deref() == Some(text)
    }
}

/// The finding without what to try and without source lines of accesses, `(main.c:12)`: the names of files and functions name no
/// fault. Where a heap object was allocated, `at main.c:12`, is its name.
fn without_places(headline: &str) -> String {
    let finding = headline.split(" To try: ").next().unwrap_or_default();
    let mut parts = finding.split('(');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| match part.split_once(')') {
        Some((inside, rest)) if inside.contains(':') && !inside.contains(' ') => all + rest,
        _ => all + "(" + part,
    })
}

/// The finding of a report, by its `cause` and its text, that accuses a program: it names a line, a lock or a function.
fn accusation(cause: &str, text: &str) -> Option<String> {
    let accuses = !matches!(cause, "nothing" | "idle") || text.contains("Besides, ");
    accuses.then(|| text.to_owned())
}

/// The programs of `accuracy/culprits`.
pub fn read(folder: &Path) -> Result<Vec<Culprit>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut all: Vec<Culprit> = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let list: List = toml::from_str(&text).with_context(|| format!("in {}", file.display()))?;
        for mut culprit in list.culprit {
            culprit.prepare = list.prepare.clone();
            ensure!(all.iter().all(|other| other.name != culprit.name), "two culprits are called {}", culprit.name);
            ensure!(
                culprit.suite.is_some() == culprit.twin.is_some(),
                "{}: `suite` and `twin` must be given together",
                culprit.name
            );
            all.push(culprit);
        }
    }
    Ok(all)
}

pub fn measure(bench: &Bench, all: &[Culprit], only: Option<&str>) -> Result<Vec<Score>> {
    let chosen: Vec<&Culprit> = all.iter().filter(|culprit| only.is_none_or(|only| culprit.has(only))).collect();
    let mut scores = Vec::new();
    for scored in side_by_side(Progress::of("culprits", chosen.len()), &chosen, name, |culprit| score(bench, culprit)) {
        match scored {
            Ok(score) => scores.push(score),
            Err(why) if why.is::<Unavailable>() => eprintln!("SKIPPED: {why:#}"),
            Err(why) => return Err(why),
        }
    }
    Ok(scores)
}

fn name(culprit: &&Culprit) -> String {
    culprit.name.clone()
}

/// Tries layouts alone, and leaves what the reports said as it is.
pub fn measure_layouts(bench: &Bench, all: &[Culprit], only: Option<&str>, scores: &mut [Score]) -> Result<()> {
    let chosen = |culprit: &&Culprit| culprit.asks_for_layouts() && only.is_none_or(|only| culprit.has(only));
    let chosen: Vec<&Culprit> = all.iter().filter(chosen).collect();
    let try_layouts = |culprit: &&Culprit| {
        let [(_, arguments), (innocent, _)] = programs(bench, culprit)?;
        layout(bench, culprit, &innocent, &arguments)
    };
    let found = side_by_side(Progress::of("layouts", chosen.len()), &chosen, name, try_layouts);
    for (culprit, layout) in chosen.iter().zip(found) {
        let score = scores.iter_mut().find(|score| score.name == culprit.name);
        let score = score.with_context(|| format!("{}: `--suite culprits` comes first", culprit.name))?;
        score.layout = layout?;
    }
    Ok(())
}

fn layout(bench: &Bench, culprit: &Culprit, twin: &Path, arguments: &str) -> Result<Option<Layout>> {
    layouts::try_layouts(bench, &bench.copy(&culprit.file())?, twin, arguments)
}

fn score(bench: &Bench, culprit: &Culprit) -> Result<Score> {
    let [(guilty, arguments), (innocent, twin_arguments)] = programs(bench, culprit)?;
    let (mut at, keeps) = (Vec::new(), culprit.suite.is_none());
    for cpus in CPUS {
        // A run that fails names nothing; what it is of a twin is no acquittal.
        let headline = match bench.headline(&guilty, keeps, cpus, &arguments) {
            Ok((_, headline)) => headline,
            Err(why) => format!("no finding: {why:#}"),
        };
        let accused = match bench.headline(&innocent, keeps, cpus, &twin_arguments) {
            Ok((cause, text)) => accusation(&cause, &text),
            Err(why) => Some(format!("no finding: {why:#}")),
        };
        at.push(Verdict { cpus, missing: culprit.missing(&headline), headline, accused });
    }
    let asked_for_layouts = culprit.asks_for_layouts();
    let layout = match asked_for_layouts {
        true => layout(bench, culprit, &innocent, &arguments)?,
        false => None,
    };
    let Culprit { name, what, source, .. } = culprit;
    let (name, what, source) = (name.clone(), what.clone(), source.clone());
    Ok(Score { name, what, source, public: culprit.suite.is_some(), at, layout, asked_for_layouts })
}

/// The program and its twin, built, with their arguments.
fn programs(bench: &Bench, culprit: &Culprit) -> Result<[(PathBuf, String); 2]> {
    if let (Some(suite), Some(twin)) = (&culprit.suite, &culprit.twin) {
        let directory = culprit.directory.as_deref().unwrap_or(".");
        let build = |suite: &str, directory, program| {
            bench.build_public(suite, culprit.prepare.get(suite).map(String::as_str), directory, program)
        };
        let guilty = build(suite, directory, &culprit.program)?;
        let (of, at) = (twin.suite.as_ref().unwrap_or(suite), twin.directory.as_deref().unwrap_or(directory));
        let innocent = build(of, at, &twin.program)?;
        let arguments = culprit.arguments.clone().context("a public program without arguments")?;
        return Ok([(guilty, arguments), (innocent, twin.arguments.clone())]);
    }
    let build = |twin: bool| match culprit.of_rust() {
        Some(name) => bench.build_rust("culprits/rust", name, twin),
        None => {
            let options: &[String] = if twin { &["-DTWIN".into()] } else { &[] };
            Ok(bench.build_simulated(&culprit.file(), options)?.path())
        }
    };
    let (guilty, innocent) = (build(false)?, build(true)?);
    let arguments = |work| format!("{{cpus}} {work}");
    let (work, twin_work) = (culprit.work, culprit.twin_work.unwrap_or(culprit.work));
    Ok([(guilty, arguments(work)), (innocent, arguments(twin_work))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn culprit(named: &[&str], kind: &str, fix: &str) -> Culprit {
        let text = format!(
            "[[culprit]]\nname = 'n'\nwhat = 'w'\nsource = 's'\nprogram = 'p.c'\nnamed = {named:?}\nkind = '{kind}'\nfix = '{fix}'"
        );
        let mut list: List = toml::from_str(&text).unwrap();
        list.culprit.remove(0)
    }

    #[test]
    fn all_that_is_missing_is_listed() {
        let headline = "96% of CPU time waits for 7 cache lines of struct counter: 100% of it for counter.delta[0-79]. False \
                        sharing: f writes counter.delta[0-79]; padding would separate the elements.";
        assert!(culprit(&["delta"], "false sharing", "separate").missing(headline).is_empty());
        assert!(culprit(&["sum|delta"], "mutex|false sharing", "separate").missing(headline).is_empty());
        let missing = culprit(&["sum", "delta"], "true sharing", "split").missing(headline);
        assert_eq!(missing, ["sum", "true sharing", "fix: split"]);
        let nothing = headline.replace("would separate the elements", "would not separate these uses");
        assert_eq!(culprit(&["delta"], "false sharing", "separate").missing(&nothing), ["fix: separate"]);
    }

    #[test]
    fn neither_files_nor_advice_name_a_fault() {
        let headline = "5% of CPU time waits for one cache line of table at a.c:3 (heap, 64 bytes). True and false sharing: f \
                        (mutex.c:12) writes table.n. To try: hold the lock for less time.";
        let asks = |named: &str, kind: &str| culprit(&[named], kind, "split").missing(headline).len();
        assert_eq!(
            [asks("table", "both"), asks("a.c:3", "both"), asks("mutex", "both"), asks("hold", "both")],
            [1, 1, 2, 2]
        );
        assert_eq!(asks("table", "false sharing"), 2);
    }

    #[test]
    fn what_is_named_of_a_twin_accuses_it() {
        for (cause, text, accused) in [
            ("nothing", "No line, lock or function stands out: it scales.", false),
            ("idle", "On average only 3 of the 8 CPUs had a thread to run.", false),
            ("idle", "On average only 3 of the 8 CPUs had a thread to run. Besides, 9% of CPU time waits for x.", true),
            ("lines", "It scales, yet 5.1% of CPU time waits for x.", true),
            ("many lines", "22% of CPU time waits for cache lines.", true),
        ] {
            assert_eq!(accusation(cause, text).is_some(), accused, "{cause}: {text}");
        }
    }

    #[test]
    fn a_culprit_counts_where_all_numbers_of_cpus_name_it() {
        let at = |missing: &[&str]| Verdict {
            cpus: 8,
            missing: missing.iter().map(|s| s.to_string()).collect(),
            headline: String::new(),
            accused: None,
        };
        let score = |at| Score {
            name: String::new(),
            what: String::new(),
            source: String::new(),
            public: false,
            at,
            layout: None,
            asked_for_layouts: false,
        };
        assert!(score(vec![at(&[]), at(&[])]).is_named());
        assert!(!score(vec![at(&[]), at(&["x"])]).is_named());
    }
}
