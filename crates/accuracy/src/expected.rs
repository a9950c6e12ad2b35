// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error to expect, by machine and kind of code: what reports say of themselves.
use crate::results::{Curve, Group, Point};
use crate::statistics::median;
use corefold_report::{CodeKind, Expected, range_of};
use std::collections::BTreeMap;

/// Indices of a machine and a kind of code, and a range of CPUs.
type Row = (usize, usize, (u32, u32));

/// For each machine and for all, for each kind and for all, for each range of CPUs: what was measured of it, if anything
/// was. Of a host the rows have a name that no profile has, so no report uses them.
pub fn of(groups: &[&Group]) -> Vec<Expected> {
    let mut points: BTreeMap<Row, Vec<&Point>> = BTreeMap::new();
    let mut machines: Vec<Option<String>> = Vec::new();
    for machine in groups.iter().map(|group| Some(group.machine.clone())).chain([None]) {
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let kinds: Vec<Option<CodeKind>> = CodeKind::ALL.map(Some).into_iter().chain([None]).collect();
    for group in groups {
        for (point, kind) in group.curves.iter().flat_map(counted) {
            for (m, _) in machines.iter().enumerate().filter(|(_, m)| m.as_ref().is_none_or(|m| *m == group.machine)) {
                for (k, _) in kinds.iter().enumerate().filter(|(_, k)| k.is_none_or(|k| k == kind)) {
                    points.entry((m, k, range_of(point.threads))).or_default().push(point);
                }
            }
        }
    }
    let expected = points.into_iter().map(|((m, k, cpus), points)| Expected {
        machine: machines[m].clone(),
        kind: kinds[k],
        cpus,
        points: points.len(),
        median: median(&points.iter().map(|point| point.error().abs()).collect::<Vec<f64>>()).expect("one at least"),
        worst_factor: points.iter().map(|point| point.factor()).fold(1.0, f64::max),
    });
    expected.collect()
}

/// The points that tell what to expect: those with bounds, and of locks that block all, though these paths have no bound. One
/// thread alone has its data to itself.
fn counted(curve: &Curve) -> impl Iterator<Item = (&Point, CodeKind)> {
    let blocks = curve.kind == Some(CodeKind::BlockingLocks) && curve.withheld.is_none();
    let kind = |point: &Point| if point.threads == 1 { Some(CodeKind::PrivateData) } else { curve.kind };
    let single = |point: &Point| curve.not_counted.iter().any(|(threads, _)| *threads == point.threads);
    let counts = move |point: &&Point| curve.why_apart(point).is_none() || blocks && !single(point);
    curve.points.iter().filter(counts).filter_map(move |point| Some((point, kind(point)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(machine: &str, kind: CodeKind, apart: bool) -> Group {
        let point = |threads, ours| Point { threads, theirs: 10.0, spread: (10.0, 10.0), ours };
        let (points, apart) = (vec![point(1, 10.0), point(2, 20.0), point(4, 8.0)], apart.then(|| "why".to_owned()));
        let curve = Curve { kind: Some(kind), points, apart, ..Curve::called("c".into()) };
        Group {
            title: "t".into(),
            source: "s".into(),
            machine: machine.into(),
            pinned: true,
            curves: vec![curve],
            ..Group::default()
        }
    }

    fn find(expected: &[Expected], machine: Option<&str>, kind: CodeKind, cpus: u32) -> Option<(usize, f64, f64)> {
        let of = |e: &&Expected| e.machine.as_deref() == machine && e.kind == Some(kind) && e.cpus == range_of(cpus);
        let found = expected.iter().find(of)?;
        Some((found.points, found.median, found.worst_factor))
    }

    #[test]
    fn one_thread_is_private_whatever_the_workload() {
        let expected = of(&[&group("a", CodeKind::SpinLocks, false)]);
        assert_eq!(find(&expected, Some("a"), CodeKind::SpinLocks, 2), Some((2, 0.375, 2.0)));
        assert_eq!(find(&expected, Some("a"), CodeKind::PrivateData, 1), Some((1, 0.0, 1.0)));
        assert_eq!(find(&expected, Some("a"), CodeKind::SpinLocks, 80), None, "of few CPUs only");
        assert_eq!(find(&expected, Some("a"), CodeKind::HandOvers, 2), None);
    }

    #[test]
    fn of_what_stands_apart_only_blocking_counts() {
        let expected = of(&[&group("a", CodeKind::SpinLocks, true), &group("b", CodeKind::BlockingLocks, true)]);
        assert_eq!(find(&expected, None, CodeKind::SpinLocks, 2), None);
        assert_eq!(find(&expected, Some("b"), CodeKind::BlockingLocks, 2), Some((2, 0.375, 2.0)));
    }

    #[test]
    fn no_profile_is_a_host() {
        let expected = of(&[&group("host: an EPYC", CodeKind::SpinLocks, false)]);
        assert!(find(&expected, Some("host: an EPYC"), CodeKind::SpinLocks, 2).is_some());
        assert!(find(&expected, Some("host"), CodeKind::SpinLocks, 2).is_none());
    }
}
