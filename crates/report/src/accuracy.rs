// SPDX-License-Identifier: MIT OR Apache-2.0
//! The expected error of a report's figures: the measured error of workloads of the same kind.
use crate::curve::Curve;
use serde::{Deserialize, Serialize};

/// The kind of code that takes a workload's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub enum CodeKind {
    #[serde(rename = "private data")]
    PrivateData,
    #[serde(rename = "contended atomics")]
    ContendedAtomics,
    #[serde(rename = "contended stores")]
    ContendedStores,
    #[serde(rename = "shared reads")]
    SharedReads,
    #[serde(rename = "spin locks")]
    SpinLocks,
    #[serde(rename = "blocking locks")]
    BlockingLocks,
    #[serde(rename = "hand-overs")]
    HandOvers,
}

impl CodeKind {
    pub const ALL: [CodeKind; 7] = [
        CodeKind::PrivateData,
        CodeKind::ContendedAtomics,
        CodeKind::ContendedStores,
        CodeKind::SharedReads,
        CodeKind::SpinLocks,
        CodeKind::BlockingLocks,
        CodeKind::HandOvers,
    ];

    pub fn name(self) -> &'static str {
        match self {
            CodeKind::PrivateData => "private data",
            CodeKind::ContendedAtomics => "contended atomics",
            CodeKind::ContendedStores => "contended stores",
            CodeKind::SharedReads => "shared reads",
            CodeKind::SpinLocks => "spin locks",
            CodeKind::BlockingLocks => "blocking locks",
            CodeKind::HandOvers => "hand-overs",
        }
    }
}

/// Numbers of CPUs that are told apart: what holds for few says little of many.
const RANGES: [(u32, u32); 5] = [(1, 1), (2, 4), (5, 16), (17, 80), (81, u32::MAX)];

/// The range that a number of CPUs, or of threads on CPUs of their own, falls in.
pub fn range_of(cpus: u32) -> (u32, u32) {
    RANGES.into_iter().find(|(_, last)| cpus <= *last).expect("the last range has no end")
}

/// `at 5 to 16 CPUs`.
pub fn range_name((first, last): (u32, u32)) -> String {
    match last {
        1 => "at 1 CPU".into(),
        u32::MAX => format!("above {} CPUs", first - 1),
        _ => format!("at {first} to {last} CPUs"),
    }
}

/// The error of throughput that was measured for one kind of code on one machine: a share, and of the worst point a factor (a
/// simulation that is ten times too slow is wrong by 90 %).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Expected {
    /// The profile; `None`: all of them.
    pub machine: Option<String>,
    /// `None`: all kinds.
    pub kind: Option<CodeKind>,
    /// Of [`range_of`].
    pub cpus: (u32, u32),
    pub points: usize,
    pub median: f64,
    /// The worst point: how many times too fast or too slow.
    pub worst_factor: f64,
}

/// What is known of a report's figures.
#[derive(Debug, PartialEq)]
pub(crate) struct Trust<'a> {
    /// `None`: no one kind.
    kind: Option<CodeKind>,
    cpus: (u32, u32),
    /// Of this range, or else of the next smaller one that was measured.
    pub nearest: &'a Expected,
}

/// The error for this range of CPUs, machine and kind of code; else of this kind on all machines; else the same of fewer
/// CPUs. `None`: nothing was measured at all.
pub(crate) fn expected<'a>(known: &'a [Expected], curve: &Curve, kind: Option<CodeKind>) -> Option<Trust<'a>> {
    let machine = curve.points.first().map(|point| point.explained.run.machine.as_str());
    // A placement is no other machine.
    let machine = machine.map(|name| name.split(" placed ").next().unwrap_or(name));
    let cpus = range_of(curve.last().map_or(1, |point| point.cpus()));
    let kind = if cpus.1 == 1 { Some(CodeKind::PrivateData) } else { kind };
    let of = |range, machine, kind| {
        known.iter().find(|e| e.cpus == range && e.machine.as_deref() == machine && e.kind == kind)
    };
    let smaller = RANGES.into_iter().rev().filter(|range| *range <= cpus);
    let mut of_kind = smaller.clone().map(|range| of(range, machine, kind).or_else(|| of(range, None, kind)));
    // One CPU says nothing of what several do to each other.
    let nearest =
        of_kind.find_map(|found| found.filter(|e| e.cpus.1 > 1 || cpus.1 == 1 || kind == Some(CodeKind::PrivateData)));
    let any = || smaller.clone().filter(|range| range.1 > 1 || cpus.1 == 1).find_map(|range| of(range, None, None));
    let nearest = nearest.or_else(any)?;
    Some(Trust { kind, cpus, nearest })
}

impl Trust<'_> {
    /// Is it of this very range of CPUs, and of this kind?
    pub fn is_measured(&self) -> bool {
        self.nearest.cpus == self.cpus && self.nearest.kind == self.kind
    }

    /// The report's line of it.
    pub fn line(&self) -> String {
        let Expected { machine, kind, cpus, points, median, worst_factor } = self.nearest;
        let name = |kind: Option<CodeKind>| kind.map_or("all kinds of code", CodeKind::name);
        let on = machine.as_ref().map_or("other machines", |machine| machine);
        let points = crate::units::counted(*points as u64, "point");
        let measured = match self.nearest.points {
            1 => format!("error {:.0}% ({points})", 100.0 * median),
            _ => format!("median error {:.0}%, worst {worst_factor:.2} times ({points})", 100.0 * median),
        };
        let what = match self.is_measured() {
            true => format!("{} {}, {on}: {measured}", name(*kind), range_name(*cpus)),
            false => {
                let other = if *kind == self.kind { String::new() } else { format!("{} ", name(*kind)) };
                let (asked, nearest) = (range_name(self.cpus), range_name(*cpus));
                format!(
                    "{} {asked}: no measurement to compare with; {other}{nearest}, {on}: {measured}",
                    name(self.kind)
                )
            }
        };
        format!(
            "Accuracy: {what}. Good for causes and ratios; no kernel time, TLB; bandwidth in part: docs/accuracy.md"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{failed, false_sharing, known_errors, one_lock, scaling, timed};
    use crate::{Options, Work, finding::finding, text};
    use corefold_recording::AccessKind;

    fn kind(runs: &[corefold_explain::Explained]) -> Option<CodeKind> {
        finding(&Curve::new(runs, Work::Total)).kind
    }

    #[test]
    fn the_finding_tells_the_kind_of_code() {
        assert_eq!(kind(&scaling()), Some(CodeKind::PrivateData));
        assert_eq!(kind(&one_lock()), Some(CodeKind::SpinLocks));
        assert_eq!(kind(&false_sharing()), Some(CodeKind::ContendedAtomics));
        let mut runs = false_sharing();
        let lines = &mut runs.last_mut().unwrap().lines;
        lines.iter_mut().flat_map(|l| &mut l.sites).for_each(|site| site.kind = AccessKind::Write);
        assert_eq!(kind(&runs), Some(CodeKind::ContendedStores));
    }

    #[test]
    fn the_machine_itself_comes_first() {
        let (known, runs) = (known_errors(), [timed(80, 10)]);
        let curve = Curve::new(&runs, Work::Total);
        let points = |kind| {
            let trust = expected(&known, &curve, kind)?;
            Some((trust.nearest.points, trust.nearest.machine.is_some(), trust.is_measured()))
        };
        assert_eq!(points(Some(CodeKind::ContendedAtomics)), Some((14, true, true)));
        assert_eq!(points(Some(CodeKind::SpinLocks)), Some((30, false, false)), "only for few CPUs");
        assert_eq!(points(Some(CodeKind::BlockingLocks)), Some((90, false, false)), "nothing of the kind was measured");
        assert_eq!(expected(&[], &curve, None), None);
    }

    #[test]
    fn each_number_of_cpus_has_its_range() {
        for (cpus, range) in [(1, 0), (2, 1), (4, 1), (5, 2), (16, 2), (17, 3), (80, 3), (81, 4), (4096, 4)] {
            assert_eq!(range_of(cpus), RANGES[range], "{cpus}");
        }
        assert_eq!(RANGES.map(range_name)[2..], ["at 5 to 16 CPUs", "at 17 to 80 CPUs", "above 80 CPUs"]);
    }

    /// What one thread does alone says nothing of locks, and more CPUs nothing of fewer.
    #[test]
    fn one_cpu_does_not_vouch_for_many() {
        let known = |kind, cpus| Expected { machine: None, kind, cpus, points: 3, median: 0.1, worst_factor: 1.2 };
        let runs = [timed(8, 10)];
        let curve = Curve::new(&runs, Work::Total);
        let locks = Some(CodeKind::SpinLocks);
        assert_eq!(expected(&[known(locks, (1, 1)), known(locks, (17, 80))], &curve, locks), None);
        let private = Some(CodeKind::PrivateData);
        assert!(!expected(&[known(private, (1, 1))], &curve, private).unwrap().is_measured());
    }

    #[test]
    fn every_report_has_its_line() {
        let options = Options { accuracy: known_errors(), ..Options::default() };
        let line = |runs: &[corefold_explain::Explained]| {
            let text = text(runs, &options).split_whitespace().collect::<Vec<_>>().join(" ");
            text[text.find("Accuracy: ").expect("the line")..].to_owned()
        };
        let atomics = line(&false_sharing());
        assert!(atomics.starts_with("Accuracy: contended atomics at 17 to 80 CPUs, skylake-2s-80:"), "{atomics}");
        assert!(atomics.contains("median error 12%, worst 1.29 times (14 points)"), "{atomics}");
        let locks = "Accuracy: spin locks at 17 to 80 CPUs: no measurement to compare with; at 2 to 4 CPUs, other machines: median error \
                     40%, worst 1.75 times (30 points). Good for";
        assert!(line(&one_lock()).starts_with(locks), "{}", line(&one_lock()));
        assert!(line(&[failed(8, "did not finish")]).starts_with("Accuracy: private data at 1 CPU, other machines:"));
    }

    #[test]
    fn kinds_are_saved_under_their_names() {
        for kind in CodeKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
