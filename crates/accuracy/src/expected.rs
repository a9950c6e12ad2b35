// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error to expect, by machine and kind of code: what reports say of themselves.
use crate::results::{Curve, Group, Point};
use crate::statistics::median;
use corefold_report::{CodeKind, Expected};

/// For each machine and for all, for each kind and for all: what was measured of it, if anything was.
pub fn of(groups: &[&Group]) -> Vec<Expected> {
    let mut machines: Vec<Option<&str>> = Vec::new();
    for machine in groups.iter().map(|group| Some(group.machine.as_str())).chain([None]) {
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let kinds = CodeKind::ALL.map(Some).into_iter().chain([None]);
    let pairs = machines.iter().flat_map(|machine| kinds.clone().map(|kind| (*machine, kind)));
    pairs.filter_map(|(machine, kind)| expected(groups, machine, kind)).collect()
}

fn expected(groups: &[&Group], machine: Option<&str>, kind: Option<CodeKind>) -> Option<Expected> {
    let groups = groups.iter().filter(|group| machine.is_none_or(|machine| group.machine == machine));
    let points = groups.flat_map(|group| &group.curves).flat_map(counted);
    let of_kind = points.filter(|(_, of)| kind.is_none_or(|kind| *of == kind));
    let errors: Vec<f64> = of_kind.map(|(point, _)| point.error().abs()).collect();
    let worst = errors.iter().copied().max_by(f64::total_cmp)?;
    Some(Expected { machine: machine.map(String::from), kind, points: errors.len(), median: median(&errors)?, worst })
}

/// The points that tell what to expect: the bounded ones, and of locks that block all those whose threads stay
/// where they are, though these paths have no bound. One thread alone has its data to itself.
fn counted(curve: &Curve) -> impl Iterator<Item = (&Point, CodeKind)> {
    let blocks = curve.kind == Some(CodeKind::BlockingLocks) && curve.withheld.is_none();
    let points = if blocks { &curve.points[..] } else { curve.bounded() };
    let kind = |point: &Point| if point.threads == 1 { Some(CodeKind::PrivateData) } else { curve.kind };
    points.iter().filter_map(move |point| Some((point, kind(point)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(machine: &str, kind: CodeKind, apart: bool) -> Group {
        let point = |threads, ours| Point { threads, theirs: 10.0, spread: (10.0, 10.0), ours };
        let (points, apart) = (vec![point(1, 10.0), point(2, 20.0), point(4, 8.0)], apart.then(|| "why".to_owned()));
        let curve = Curve {
            name: "c".into(),
            kind: Some(kind),
            points,
            apart,
            apart_from: 0,
            withheld: None,
            wrongly_blamed: None,
        };
        Group { title: "t".into(), source: "s".into(), machine: machine.into(), curves: vec![curve] }
    }

    fn find(expected: &[Expected], machine: Option<&str>, kind: Option<CodeKind>) -> Option<(usize, f64, f64)> {
        let found = expected.iter().find(|e| e.machine.as_deref() == machine && e.kind == kind)?;
        Some((found.points, found.median, found.worst))
    }

    #[test]
    fn one_thread_is_private_whatever_the_workload() {
        let expected = of(&[&group("a", CodeKind::SpinLocks, false)]);
        assert_eq!(find(&expected, Some("a"), Some(CodeKind::SpinLocks)), Some((2, 0.375, 0.5)));
        assert_eq!(find(&expected, Some("a"), Some(CodeKind::PrivateData)), Some((1, 0.0, 0.0)));
        assert_eq!(find(&expected, None, None), Some((3, 0.25, 0.5)));
        assert_eq!(find(&expected, Some("a"), Some(CodeKind::HandOvers)), None);
    }

    #[test]
    fn of_what_stands_apart_only_blocking_counts() {
        let expected = of(&[&group("a", CodeKind::SpinLocks, true), &group("b", CodeKind::BlockingLocks, true)]);
        assert_eq!(find(&expected, None, Some(CodeKind::SpinLocks)), None);
        assert_eq!(find(&expected, Some("b"), Some(CodeKind::BlockingLocks)), Some((2, 0.375, 0.5)));
    }
}
