// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is promised; a miss is called one.
use crate::layouts::Layout;
use crate::ratios::Ratios;
use crate::results::{Curve, Group, Point, Results};
use crate::statistics::median;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// The share of the culprits that headlines name.
pub const NAMED: f64 = 38.0 / 40.0;
/// Of the rank correlations of curves that are not flat and have five points or more: the median, and each.
const RANKS_MEDIAN: f64 = 0.9;
pub const RANKS_EACH: f64 = 0.8;
const FEWEST_POINTS: usize = 5;
/// Of the curves whose knee is not at the first point, those whose knee is within one step.
const KNEES: f64 = 0.9;

/// Which points a bound is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    NativeAlone,
    NativeTwo,
    Alone,
    Few,
    Socket,
    Sockets,
    NotPinned,
}

/// The farthest point from its measurement.
pub enum Worst {
    /// As a share of throughput.
    Error(f64),
    /// As a factor, either way.
    Factor(f64),
    /// The same, beyond what the publication's own runs varied by.
    FactorBeyond(f64),
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::NativeAlone => "native, 1 thread",
            Class::NativeTwo => "native, 2 threads",
            Class::Alone => "published, 1 thread",
            Class::Few => "published, pinned, 2 to 4 threads",
            Class::Socket => "published, pinned, 5 threads to one socket",
            Class::Sockets => "published, pinned, more than one socket",
            Class::NotPinned => "published, not pinned, no more threads than CPUs",
        }
    }

    /// The median error, and the worst.
    pub fn bounds(self) -> (f64, Worst) {
        match self {
            Class::NativeAlone => (0.10, Worst::Error(0.35)),
            Class::NativeTwo => (0.10, Worst::Error(0.50)),
            Class::Alone => (0.20, Worst::Factor(2.0)),
            Class::Few => (0.15, Worst::FactorBeyond(1.6)),
            Class::Socket => (0.25, Worst::Factor(2.0)),
            Class::Sockets | Class::NotPinned => (0.30, Worst::Factor(2.5)),
        }
    }

    /// Of a point on a machine with so many CPUs a socket and in all; `None`: threads take turns.
    fn of(group: &Group, point: &Point, (socket, all): (u32, u32)) -> Option<Class> {
        Some(match point.threads {
            1 if group.host().is_some() => Class::NativeAlone,
            _ if group.host().is_some() => Class::NativeTwo,
            1 => Class::Alone,
            threads if !group.pinned && threads > all => return None,
            _ if !group.pinned => Class::NotPinned,
            2..=4 => Class::Few,
            threads if threads <= socket => Class::Socket,
            _ => Class::Sockets,
        })
    }
}

/// All points of a class, and how far they are off.
pub struct Row {
    pub class: Class,
    /// Native ones are of one host: another's figures say nothing of it.
    host: Option<String>,
    pub points: usize,
    pub median: f64,
    pub worst: f64,
}

impl Row {
    pub fn name(&self) -> String {
        let host = self.host.iter().flat_map(|host| [", ", host]);
        [self.class.name()].into_iter().chain(host).collect()
    }

    pub fn median_is_reached(&self) -> bool {
        self.median <= self.class.bounds().0
    }

    pub fn worst_is_reached(&self) -> bool {
        match self.class.bounds().1 {
            Worst::Error(most) | Worst::Factor(most) | Worst::FactorBeyond(most) => self.worst <= most,
        }
    }
}

/// CPUs of the machine that threads fill before they come to a second socket, and all: CPUs are numbered as Linux does, one of
/// each core first.
fn cpus(group: &Group) -> Result<(u32, u32)> {
    if group.host().is_some() {
        return Ok((2, 2));
    }
    let machine = corefold_machine::load(&group.machine)?.machine;
    Ok((u32::from(machine.cores_per_socket), machine.cpus()))
}

/// The classes that have points.
pub fn rows(results: &Results) -> Result<Vec<Row>> {
    let mut points: BTreeMap<(Class, Option<&str>), Vec<&Point>> = BTreeMap::new();
    for group in results.groups() {
        let cpus = cpus(group)?;
        for point in group.curves.iter().flat_map(Curve::counted) {
            if let Some(class) = Class::of(group, point, cpus) {
                points.entry((class, group.host())).or_default().push(point);
            }
        }
    }
    let row = |((class, host), of): ((Class, Option<&str>), Vec<&Point>)| {
        let far = |point: &Point| match class.bounds().1 {
            Worst::Error(_) => point.error().abs(),
            Worst::Factor(_) => point.factor(),
            Worst::FactorBeyond(_) => point.factor_beyond(),
        };
        let median = median(&of.iter().map(|point| point.error().abs()).collect::<Vec<f64>>())?;
        let worst = of.iter().map(|point| far(point)).fold(0.0, f64::max);
        Some(Row { class, host: host.map(String::from), points: of.len(), median, worst })
    };
    Ok(points.into_iter().filter_map(row).collect())
}

/// How well the shapes of curves agree.
pub struct Shapes {
    /// Curves of enough points that are not flat, the median of their rank correlations, and the least.
    pub ranked: usize,
    pub ranks_median: f64,
    pub ranks_least: f64,
    /// Curves that are not flat and whose knee is not at the first or the last point on both sides, and those of them whose
    /// knees are within one step.
    pub bent: usize,
    pub same_knee: usize,
}

impl Shapes {
    pub fn of(results: &Results) -> Shapes {
        let curves: Vec<&Curve> =
            results.groups().flat_map(|group| &group.curves).filter(|c| c.apart.is_none()).collect();
        let enough = curves.iter().filter(|curve| curve.points.len() >= FEWEST_POINTS);
        let ranks: Vec<f64> = enough.filter_map(|curve| curve.rank_correlation()).collect();
        let bent: Vec<bool> = curves.iter().filter_map(|curve| curve.same_knee()).collect();
        Shapes {
            ranked: ranks.len(),
            ranks_median: median(&ranks).unwrap_or(1.0),
            ranks_least: ranks.iter().copied().fold(1.0, f64::min),
            bent: bent.len(),
            same_knee: bent.iter().filter(|same| **same).count(),
        }
    }

    pub fn ranks_are_reached(&self) -> bool {
        self.ranks_median >= RANKS_MEDIAN && self.ranks_least >= RANKS_EACH
    }

    pub fn knees_are_reached(&self) -> bool {
        self.same_knee as f64 >= KNEES * self.bent as f64
    }
}

/// Whether a layout keeps a bound.
type Holds = fn(&Layout) -> bool;

/// Of the best layout: what it removes of the time beyond the twin's, and how far the promised gain is from the twin's.
pub const REMOVED: f64 = 0.9;
pub const PROMISED: f64 = 0.1;

pub fn ends_it(layout: &Layout) -> bool {
    layout.before > layout.twin && layout.trial < layout.before && layout.removed() >= REMOVED
}

pub fn is_kept(layout: &Layout) -> bool {
    (layout.gain() - layout.gained()).abs() <= PROMISED
}

/// The same of the program that the source patch made, and of the trial that it is the patch of.
pub fn patch_ends_it(layout: &Layout) -> bool {
    layout.before > layout.twin && layout.patched.as_ref().is_some_and(|patched| patched.removed(layout) >= REMOVED)
}

pub fn patch_keeps_it(layout: &Layout) -> bool {
    let gains = layout.patched.as_ref().map(|patched| patched.gains(layout));
    gains.is_some_and(|(promised, gained)| (promised - gained).abs() <= PROMISED)
}

/// All that is reached, by name: what was once must not be missed again.
pub fn reached(results: &Results) -> Result<BTreeSet<String>> {
    let mut reached = BTreeSet::new();
    for row in rows(results)? {
        for (bound, holds) in [("median", row.median_is_reached()), ("worst", row.worst_is_reached())] {
            reached.extend(holds.then(|| format!("{bound} error: {}", row.name())));
        }
    }
    let shapes = Shapes::of(results);
    reached.extend(shapes.ranks_are_reached().then(|| "rank correlation".into()));
    reached.extend(shapes.knees_are_reached().then(|| "knees".into()));
    let ratios = Ratios::of(results.groups());
    reached.extend(ratios.winners_are_reached().then(|| "the better of two designs".into()));
    reached.extend(ratios.median_is_reached().then(|| "the ratio of two designs".into()));
    for score in results.culprits.iter().filter(|score| score.asked_for_layouts) {
        let name = &score.name;
        let bounds: [(Holds, String); 4] = [
            (ends_it, format!("corefold fix ends the fault of {name}")),
            (is_kept, format!("the promised gain of {name} is within 10 points of the twin's")),
            (patch_ends_it, format!("the source patch ends the fault of {name}")),
            (patch_keeps_it, format!("the promised gain of {name} is within 10 points of its patch's")),
        ];
        let held = bounds.into_iter().filter(|(holds, _)| score.layout.as_ref().is_some_and(holds));
        reached.extend(held.map(|(_, bound)| bound));
    }
    for score in &results.culprits {
        reached.extend(score.is_named().then(|| format!("the headline names {}", score.name)));
        reached.extend((!score.twin_is_accused()).then(|| format!("the twin of {} is not accused", score.name)));
    }
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::culprits::{Score, Verdict};

    fn results(missing: &[&str], accused: Option<&str>) -> Results {
        let missing = missing.iter().map(|text| text.to_string()).collect();
        let verdict = Verdict { cpus: 8, missing, headline: String::new(), accused: accused.map(String::from) };
        let [what, source] = [String::new(), String::new()];
        let score = Score {
            name: "a".into(),
            what,
            source,
            public: false,
            at: vec![verdict],
            layout: None,
            asked_for_layouts: false,
        };
        Results { culprits: vec![score], ..Results::default() }
    }

    fn group(machine: &str, pinned: bool, points: &[(u32, f64)]) -> Group {
        let point =
            |(threads, ours): &(u32, f64)| Point { threads: *threads, theirs: 10.0, spread: (9.0, 11.0), ours: *ours };
        let curve = Curve { points: points.iter().map(point).collect(), ..Curve::called("c".into()) };
        Group {
            title: "t".into(),
            source: "s".into(),
            machine: machine.into(),
            pinned,
            curves: vec![curve],
            ..Group::default()
        }
    }

    #[test]
    fn a_culprit_and_its_twin_are_bounds_of_their_own() {
        let of = |results| Vec::from_iter(reached(&results).unwrap().into_iter().filter(|name| name.contains(" a")));
        assert_eq!(of(results(&[], None)).len(), 2);
        assert_eq!(of(results(&["x"], None)), ["the twin of a is not accused"]);
        assert_eq!(of(results(&[], Some("x"))), ["the headline names a"]);
    }

    #[test]
    fn a_point_is_of_the_class_that_its_machine_makes_it() {
        let class = |group: &Group| Class::of(group, &group.curves[0].points[0], cpus(group).unwrap());
        for (pinned, threads, expected) in [
            (true, 1, Some(Class::Alone)),
            (true, 4, Some(Class::Few)),
            (true, 20, Some(Class::Socket)),
            (true, 21, Some(Class::Sockets)),
            (false, 2, Some(Class::NotPinned)),
            (false, 79, Some(Class::NotPinned)),
            (false, 80, Some(Class::NotPinned)),
            (false, 81, None),
        ] {
            assert_eq!(class(&group("skylake-2s-80", pinned, &[(threads, 1.0)])), expected, "{threads} {pinned}");
        }
        assert_eq!(class(&group("host: an EPYC", true, &[(2, 1.0)])), Some(Class::NativeTwo));
    }

    #[test]
    fn a_row_has_the_median_and_the_worst_of_its_points() {
        let groups = vec![group("skylake-2s-80", true, &[(2, 10.0), (3, 11.0), (4, 22.0)])];
        let rows = rows(&Results { published: groups, ..Results::default() }).unwrap();
        assert_eq!((rows.len(), rows[0].points, rows[0].worst), (1, 3, 2.0));
        assert!(rows[0].median_is_reached() && !rows[0].worst_is_reached());
    }

    #[test]
    fn flat_curves_and_knees_at_the_start_count_in_nothing() {
        let flat = group("skylake-2s-80", true, &[(1, 10.0), (2, 10.0), (4, 10.0), (8, 10.0), (16, 10.0)]);
        let shapes = Shapes::of(&Results { published: vec![flat], ..Results::default() });
        assert_eq!((shapes.ranked, shapes.bent, shapes.same_knee), (0, 0, 0));
        let contended = group("skylake-2s-80", true, &[(1, 10.0), (2, 100.0), (4, 900.0)]);
        let mut same = contended.curves[0].clone();
        same.points.iter_mut().for_each(|point| point.theirs = point.ours);
        let shapes =
            Shapes::of(&Results { published: vec![Group { curves: vec![same], ..contended }], ..Results::default() });
        assert_eq!(shapes.bent, 0, "both stop to scale at once");
    }
}
