// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured: `accuracy/suite.toml`.
use anyhow::{Context, Result, ensure};
use corefold_report::CodeKind;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub native: Native,
    /// Lists of curves that several groups have.
    curves: BTreeMap<String, Vec<Curve>>,
    pub group: Vec<Group>,
    /// Mechanisms of the model, each of which is left out once.
    pub ablation: Vec<Removed>,
    /// What is known of misses.
    #[serde(default)]
    pub known: Vec<Known>,
    /// Published, and not simulated.
    #[serde(default)]
    pub absent: Vec<Known>,
}

/// A mechanism, and the code that is there for it alone: files, or functions of them (`FILE:FUNCTION`).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removed {
    pub name: String,
    /// Why it is there, if the table does not show it.
    pub stays: Option<String>,
    pub code: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Machine and workload, or a publication.
    pub of: String,
    pub why: String,
}

/// Workloads that run on this host and on its profile.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Native {
    /// Of a native trial, and how many there are.
    pub microseconds: u64,
    pub trials: usize,
    /// Of a simulated run.
    pub simulated_microseconds: u64,
    pub workload: Vec<Workload>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Of a file of `accuracy/native`.
    pub name: String,
    pub kind: CodeKind,
    /// Nothing is shared: no line may be blamed.
    #[serde(default)]
    pub private: bool,
}

/// Published curves of one machine, from one source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub title: String,
    pub source: String,
    /// The profile.
    pub machine: String,
    /// A file of `accuracy/published`, and one of `validation/curves`.
    pub program: String,
    pub data: Option<String>,
    pub microseconds: u64,
    /// Of the numbers of threads, some that show the curve's shape: those of tables, knees and ablation; none: all.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// Its curves are one design at different work: they are not compared with each other.
    #[serde(default)]
    pub one_design: bool,
    /// The program runs so many threads at each point; a point's threads are those that share something (`-DGROUP`).
    pub in_all: Option<u32>,
    /// As many CPUs had the published machine, or could be measured of it; none: as many as the profile's.
    pub most_threads: Option<u32>,
    /// Why the points of this group are listed apart, without a bound: the model does not have it.
    pub apart: Option<String>,
    /// It takes minutes of the host: not simulated again without each mechanism.
    #[serde(default)]
    pub slow: bool,
    /// The publication's threads stayed on their CPUs.
    #[serde(default = "yes")]
    pub pinned: bool,
    /// Single points that do not count.
    #[serde(default)]
    pub not_counted: Vec<NotCounted>,
    #[serde(default)]
    curve: Vec<Curve>,
    /// In place of `curve`: one of [`Suite::curves`].
    curves: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    pub name: String,
    pub kind: CodeKind,
    /// For the compiler.
    pub options: Vec<String>,
    /// The source's name of it, if its file has several; and its own file.
    pub series: Option<String>,
    pub data: Option<String>,
    pub apart: Option<String>,
    /// In place of the group's.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// In place of the group's.
    pub most_threads: Option<u32>,
    pub microseconds: Option<u64>,
    /// A constant that the source withholds, set from the point with one thread.
    pub withheld: Option<Withheld>,
    /// Nothing is shared: no line may be blamed.
    #[serde(default)]
    pub private: bool,
}

impl Group {
    /// The most threads of a curve that are no more than CPUs.
    pub fn most_threads(&self, curve: &Curve) -> u32 {
        curve.most_threads.or(self.most_threads).unwrap_or(u32::MAX)
    }

    /// Of a curve: see [`Curve::threads`].
    pub fn shown<'a>(&'a self, curve: &'a Curve) -> &'a [u32] {
        if curve.threads.is_empty() { &self.threads } else { &curve.threads }
    }

    /// Linux spreads threads that are not pinned.
    pub fn placement(&self) -> &'static str {
        if self.pinned { corefold_machine::COMPACT } else { corefold_machine::SPREAD }
    }
}

fn yes() -> bool {
    true
}

/// Points that say nothing of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotCounted {
    curve: String,
    threads: Vec<u32>,
    why: String,
}

/// A macro of the program, between two values; time grows in proportion to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    #[serde(rename = "macro")]
    pub name: String,
    pub between: (u32, u32),
}

impl Workload {
    /// As the page calls it.
    pub fn title(&self) -> String {
        self.name.replace('_', " ")
    }
}

impl Suite {
    pub fn read(file: &Path) -> Result<Suite> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let suite: Suite = toml::from_str(&text).with_context(|| format!("in {}", file.display()))?;
        for group in &suite.group {
            for points in &group.not_counted {
                let known = suite.curves_of(group).iter().any(|curve| curve.name == points.curve);
                ensure!(known, "in {}: {} has no curve {}", file.display(), group.title, points.curve);
            }
        }
        for list in suite.group.iter().filter_map(|group| group.curves.as_ref()) {
            ensure!(suite.curves.contains_key(list), "in {}: no list of curves is called {list}", file.display());
        }
        Ok(suite)
    }

    /// Whether the curves of this group were measured with pinned threads, as native ones are; and whether they are one design.
    pub fn pinned_and_one_design(&self, title: &str) -> (bool, bool) {
        let group = self.group.iter().find(|group| group.title == title);
        group.map_or((true, false), |group| (group.pinned, group.one_design))
    }

    fn find(&self, title: &str, name: &str) -> Option<(&Group, &Curve)> {
        let group = self.group.iter().find(|group| group.title == title)?;
        Some((group, self.curves_of(group).iter().find(|curve| curve.name == name)?))
    }

    /// Why all points of a curve are listed apart, and why single ones are.
    pub fn apart(&self, title: &str, name: &str) -> (Option<String>, Vec<(u32, String)>) {
        let Some((group, curve)) = self.find(title, name) else { return Default::default() };
        let single = group.not_counted.iter().filter(|points| points.curve == name);
        let single = single.flat_map(|points| points.threads.iter().map(|threads| (*threads, points.why.clone())));
        (curve.apart.clone().or(group.apart.clone()), single.collect())
    }

    /// The most threads that a curve is for.
    pub fn most_threads(&self, title: &str, name: &str) -> u32 {
        self.find(title, name).map_or(u32::MAX, |(group, curve)| group.most_threads(curve))
    }

    /// The numbers of threads that show the shape of a curve; none: all.
    pub fn shown(&self, title: &str, name: &str) -> Vec<u32> {
        self.find(title, name).map_or(Vec::new(), |(group, curve)| group.shown(curve).to_owned())
    }

    /// Why a mechanism is there, if that is to be said.
    pub fn stays(&self, name: &str) -> &str {
        let found = self.ablation.iter().find(|removed| removed.name == name);
        found.and_then(|removed| removed.stays.as_deref()).unwrap_or_default()
    }

    /// Of the curve `name` of the group `title`; of a workload where that is no group's.
    pub fn kind(&self, title: &str, name: &str) -> Option<CodeKind> {
        match self.find(title, name) {
            Some((_, curve)) => Some(curve.kind),
            None => self.native.workload.iter().find(|workload| workload.title() == name).map(|w| w.kind),
        }
    }

    pub fn curves_of<'a>(&'a self, group: &'a Group) -> &'a [Curve] {
        group.curves.as_ref().and_then(|list| self.curves.get(list)).unwrap_or(&group.curve)
    }
}
