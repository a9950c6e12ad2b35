// SPDX-License-Identifier: MIT OR Apache-2.0
//! The JSON document of a run, by what tests ask of it.
use serde_json::Value;
use std::path::Path;

pub struct Report(pub Value);

#[derive(Clone, Copy)]
pub struct Run<'a>(pub &'a Value);

#[derive(Clone, Copy)]
pub struct Line<'a>(pub &'a Value);

impl Report {
    pub fn read(path: &Path) -> Report {
        Report::parse(&std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    pub fn parse(text: &str) -> Report {
        Report(serde_json::from_str(text).expect("JSON"))
    }

    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.0["runs"].as_array().expect("runs").iter().map(Run)
    }

    pub fn at(&self, cpus: u64) -> Run<'_> {
        self.runs().find(|r| r.cpus() == cpus).unwrap_or_else(|| panic!("no run at {cpus} CPUs"))
    }

    /// Visits of progress points a second.
    pub fn throughput(&self, cpus: u64) -> f64 {
        self.at(cpus).0["throughput"].as_f64().unwrap_or_else(|| panic!("no throughput at {cpus} CPUs"))
    }

    /// The throughput at `cpus` against that at `base`.
    pub fn gain(&self, cpus: u64, base: u64) -> f64 {
        self.throughput(cpus) / self.throughput(base)
    }
}

impl<'a> Run<'a> {
    pub fn cpus(self) -> u64 {
        self.0["cpus"].as_u64().expect("cpus")
    }

    pub fn cycles(self) -> u64 {
        self.0["cycles"].as_u64().expect("cycles")
    }

    /// Share of all threads' time that went to one of `compute`, `stall`, `spin`, `block`.
    pub fn share(self, of: &str) -> f64 {
        let part = |name: &str| self.0["time"][name].as_f64().expect("a time");
        part(of) / ["compute", "stall", "spin", "block"].map(part).iter().sum::<f64>()
    }

    pub fn ending(self) -> &'a str {
        self.0["ending"]["summary"].as_str().expect("an ending")
    }

    pub fn lines(self) -> impl Iterator<Item = Line<'a>> {
        self.0["lines"].as_array().expect("lines").iter().map(Line)
    }
}

impl<'a> Line<'a> {
    pub fn text(self, key: &str) -> &'a str {
        self.0[key].as_str().unwrap_or_else(|| panic!("{key} is no text in {}", self.0))
    }

    pub fn fields(self) -> Vec<&'a str> {
        self.0["fields"].as_array().expect("fields").iter().map(|f| f.as_str().expect("a name")).collect()
    }

    pub fn percent(self, key: &str) -> f64 {
        self.0[key].as_f64().unwrap_or_else(|| panic!("no {key}"))
    }

    pub fn sites(self) -> &'a [Value] {
        self.0["sites"].as_array().expect("sites")
    }
}
