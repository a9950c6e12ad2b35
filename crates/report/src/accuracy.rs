// SPDX-License-Identifier: MIT OR Apache-2.0
//! The expected error of a report's figures: the measured error of workloads of the same kind.
use crate::curve::Curve;
use crate::finding::Cause;
use crate::hot::Group;
use corefold_explain::Sharing;
use corefold_recording::{AccessKind, LockKind};
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

    /// The kind of code that `cause` makes of a program; `None`: no one kind.
    pub(crate) fn of(cause: &Cause) -> Option<CodeKind> {
        match cause {
            Cause::Lines(group) => Some(of_lines(group)),
            Cause::Lock(lock) => Some(match lock.kind {
                LockKind::SpunWord | LockKind::Spinlock => CodeKind::SpinLocks,
                _ => CodeKind::BlockingLocks,
            }),
            Cause::ManyLines => None,
            Cause::Idle(second) => second.as_ref().map_or(Some(CodeKind::BlockingLocks), |cause| CodeKind::of(cause)),
            Cause::Function(_) | Cause::Nothing => Some(CodeKind::PrivateData),
        }
    }
}

/// By the most expensive of the accesses that write; lines without writes are shared reads.
fn of_lines(group: &Group) -> CodeKind {
    let writers = group.sites.iter().filter(|site| site.writes());
    match writers.max_by_key(|site| (site.wait(), site.transfers)) {
        _ if group.verdict.sharing == Sharing::ReadOnly => CodeKind::SharedReads,
        Some(site) if matches!(site.kind, AccessKind::Rmw | AccessKind::SplitLock) => CodeKind::ContendedAtomics,
        Some(_) => CodeKind::ContendedStores,
        None => CodeKind::SharedReads,
    }
}

/// The error that was measured for one kind of code on one machine, as a share of throughput.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Expected {
    /// The profile; `None`: all of them.
    pub machine: Option<String>,
    /// `None`: all kinds.
    pub kind: Option<CodeKind>,
    pub points: usize,
    pub median: f64,
    pub worst: f64,
}

/// The error for this machine and kind of code; else of this kind on all machines; else of all.
pub(crate) fn expected<'a>(known: &'a [Expected], curve: &Curve, kind: Option<CodeKind>) -> Option<&'a Expected> {
    let machine = curve.points.first().map(|point| point.explained.run.machine.as_str());
    let find = |machine, kind| known.iter().find(|e| e.machine.as_deref() == machine && e.kind == kind);
    find(machine, kind).or_else(|| find(None, kind)).or_else(|| find(None, None))
}

/// The report's line of it.
pub(crate) fn line(expected: &Expected) -> String {
    let Expected { machine, kind, points, median, worst } = expected;
    let kind = kind.map_or("all kinds of code", CodeKind::name);
    let on = machine.as_ref().map_or("other machines", |machine| machine);
    format!(
        "Accuracy: {kind} on {on}, pinned threads: median error {:.0}%, worst {:.0}% ({points} points). Good for causes and \
         ratios; no kernel time, TLB, bandwidth, frequency: docs/accuracy.md",
        100.0 * median,
        100.0 * worst,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{failed, false_sharing, known_errors, one_lock, scaling, timed};
    use crate::{Options, Work, finding::finding, text};

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
        let (known, runs) = (known_errors(), [timed(1, 10)]);
        let curve = Curve::new(&runs, Work::Total);
        let points = |kind| expected(&known, &curve, kind).map(|e| (e.points, e.machine.is_some()));
        assert_eq!(points(Some(CodeKind::ContendedAtomics)), Some((14, true)));
        assert_eq!(points(Some(CodeKind::SpinLocks)), Some((30, false)));
        assert_eq!(points(Some(CodeKind::BlockingLocks)), Some((90, false)), "nothing of the kind was measured");
        assert_eq!(expected(&[], &curve, None), None);
    }

    #[test]
    fn every_report_has_its_line() {
        let options = Options { accuracy: known_errors(), ..Options::default() };
        let line = |runs: &[corefold_explain::Explained]| {
            let text = text(runs, &options).split_whitespace().collect::<Vec<_>>().join(" ");
            text[text.find("Accuracy: ").expect("the line")..].to_owned()
        };
        let atomics = line(&false_sharing());
        assert!(atomics.starts_with("Accuracy: contended atomics on skylake-2s-80"), "{atomics}");
        assert!(atomics.contains("median error 12%, worst 29% (14 points)"), "{atomics}");
        assert!(line(&one_lock()).starts_with("Accuracy: spin locks on other machines,"));
        assert!(line(&[failed(8, "did not finish")]).starts_with("Accuracy: all kinds of code on other machines,"));
    }

    #[test]
    fn kinds_are_saved_under_their_names() {
        for kind in CodeKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
