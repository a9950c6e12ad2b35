// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was measured, as it is saved: figures only, so that the page can be made of it again.
use crate::culprits::{Culprit, Score};
use crate::statistics::{distinct, error, factor, knee, median, rank_correlation};
use crate::suite::Suite;
use corefold_report::{CodeKind, Expected};
use serde::{Deserialize, Serialize};

/// One point: nanoseconds an operation, as one thread sees it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Point {
    pub threads: u32,
    /// Natively measured or published.
    pub theirs: f64,
    pub spread: (f64, f64),
    pub ours: f64,
}

impl Point {
    /// How many times ours lies beyond what theirs varied by; 1: within.
    pub fn factor_beyond(&self) -> f64 {
        let (least, most) = self.spread;
        if self.ours < least { least / self.ours } else { (self.ours / most).max(1.0) }
    }

    /// Of throughput: below 0, we are slower than they were.
    pub fn error(&self) -> f64 {
        error(self.theirs, self.ours)
    }

    pub fn factor(&self) -> f64 {
        factor(self.theirs, self.ours)
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Curve {
    pub name: String,
    #[serde(default)]
    pub kind: Option<CodeKind>,
    pub points: Vec<Point>,
    /// Why no point counts, and why single ones do not, by threads.
    #[serde(default)]
    pub apart: Option<String>,
    #[serde(default)]
    pub not_counted: Vec<(u32, String)>,
    /// The numbers of threads that show its shape; none: all.
    #[serde(skip)]
    pub shown: Vec<u32>,
    /// What was set from the point with one thread, which then does not count.
    pub withheld: Option<(String, u32)>,
    /// What a report blamed, where nothing is shared.
    pub wrongly_blamed: Option<String>,
}

impl Curve {
    pub fn called(name: String) -> Curve {
        let (kind, apart, withheld, wrongly_blamed) = (None, None, None, None);
        Curve {
            name,
            kind,
            points: Vec::new(),
            apart,
            not_counted: Vec::new(),
            shown: Vec::new(),
            withheld,
            wrongly_blamed,
        }
    }

    /// The points that are held to bounds.
    pub fn counted(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|point| self.why_apart(point).is_none())
    }

    /// Why a point does not count.
    pub fn why_apart(&self, point: &Point) -> Option<&str> {
        let single =
            self.not_counted.iter().find(|(threads, _)| *threads == point.threads).map(|(_, why)| why.as_str());
        let set = self.withheld.as_ref().filter(|_| point.threads == 1).map(|_| "a constant was set from it");
        single.or(self.apart.as_deref()).or(set)
    }

    /// `None`: flat, or too few points that differ by more than the published spread.
    pub fn rank_correlation(&self) -> Option<f64> {
        let spreads: Vec<(f64, f64)> = self.points.iter().map(|point| point.spread).collect();
        let kept = distinct(&spreads);
        let side = |value: fn(&Point) -> f64| kept.iter().map(|at| value(&self.points[*at])).collect::<Vec<f64>>();
        if self.is_flat() || kept.len() < 3 {
            return None;
        }
        // Ours may be flat where theirs is not: that agrees in nothing.
        Some(rank_correlation(&side(|p| p.theirs), &side(|p| p.ours)).unwrap_or(0.0))
    }

    /// Theirs varies by less than a tenth.
    pub fn is_flat(&self) -> bool {
        let of = |pick: fn(f64, f64) -> f64| self.points.iter().map(|p| p.theirs).reduce(pick).unwrap_or(1.0);
        of(f64::max) < 1.1 * of(f64::min)
    }

    /// Is this one of the points that show its shape?
    pub fn shows(&self, point: &Point) -> bool {
        self.shown.is_empty() || self.shown.contains(&point.threads)
    }

    pub fn shape(&self) -> Vec<&Point> {
        self.points.iter().filter(|point| self.shows(point)).collect()
    }

    /// Where theirs and ours stop to scale, as indices of [`Curve::shape`]: between points that lie close, noise decides.
    pub fn knees(&self) -> (usize, usize) {
        let shape = self.shape();
        let of = |value: fn(&Point) -> f64| {
            let points: Vec<(f64, f64)> =
                shape.iter().map(|p| (f64::from(p.threads), f64::from(p.threads) / value(p))).collect();
            knee(&points)
        };
        (of(|p| p.theirs), of(|p| p.ours))
    }

    /// Its knees, if they tell anything: of a flat curve they do not, nor where both are at the same end.
    fn bends(&self) -> Option<(usize, usize)> {
        let last = self.shape().len().checked_sub(1).filter(|last| *last > 1 && !self.is_flat())?;
        Some(self.knees()).filter(|knees| *knees != (0, 0) && *knees != (last, last))
    }

    /// Is ours within a step of theirs, if they tell anything?
    pub fn same_knee(&self) -> Option<bool> {
        self.bends().map(|(theirs, ours)| theirs.abs_diff(ours) <= 1)
    }
}

/// Of a machine that was measured, not published about: no profile's name begins so.
const NATIVE: &str = "host: ";

#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Group {
    pub title: String,
    pub source: String,
    /// A profile; or a host, as [`NATIVE`] and its name.
    pub machine: String,
    #[serde(default)]
    pub pinned: bool,
    /// Its curves are not compared with each other.
    #[serde(skip)]
    pub one_design: bool,
    pub curves: Vec<Curve>,
}

impl Group {
    /// Where it was measured; none: it was published.
    pub fn host(&self) -> Option<&str> {
        self.machine.strip_prefix(NATIVE)
    }

    /// Takes from the suite what it says of the curves.
    pub fn mark(&mut self, suite: &Suite) {
        (self.pinned, self.one_design) = suite.pinned_and_one_design(&self.title);
        for curve in &mut self.curves {
            curve.kind = suite.kind(&self.title, &curve.name).or(curve.kind);
            (curve.apart, curve.not_counted) = suite.apart(&self.title, &curve.name);
            let most = suite.most_threads(&self.title, &curve.name);
            curve.points.retain(|point| point.threads <= most);
            curve.shown = suite.shown(&self.title, &curve.name);
        }
    }

    fn counted(&self) -> impl Iterator<Item = &Point> {
        self.curves.iter().flat_map(Curve::counted)
    }

    pub fn median_error(&self) -> Option<f64> {
        median(&self.counted().map(|point| point.error().abs()).collect::<Vec<f64>>())
    }

    pub fn worst_factor(&self) -> Option<f64> {
        self.counted().map(Point::factor).max_by(f64::total_cmp)
    }

    pub fn count(&self) -> usize {
        self.counted().count()
    }
}

/// What the model's mechanisms are worth.
#[derive(Debug, Deserialize, Serialize)]
pub struct Ablation {
    /// Points that are held to bounds, and their median error with all mechanisms.
    pub points: usize,
    pub median: f64,
    pub rows: Vec<Without>,
}

/// Of the suite without one of them.
#[derive(Debug, Deserialize, Serialize)]
pub struct Without {
    pub name: String,
    /// Median error of all points without the mechanism.
    pub median: f64,
    /// Points that move, and the median error of these with the mechanism and without; none if none moves.
    pub moved: usize,
    pub of_moved: Option<(f64, f64)>,
    pub lines: usize,
    /// The host's time of the runs without it, over that with all; none if the host did other work, too.
    pub time: Option<f64>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Results {
    /// What reports say of the error to expect: follows from the rest.
    #[serde(skip_deserializing)]
    pub expected: Vec<Expected>,
    /// Of each host that the suite has run on.
    pub native: Vec<Group>,
    pub published: Vec<Group>,
    #[serde(default)]
    pub ablation: Option<Ablation>,
    #[serde(default)]
    pub culprits: Vec<Score>,
}

impl Results {
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.native.iter().chain(&self.published)
    }

    /// Takes a group in, in the place of what was measured of it before.
    pub fn publish(&mut self, group: Group) {
        match self.published.iter_mut().find(|known| known.title == group.title) {
            Some(known) => *known = group,
            None => self.published.push(group),
        }
    }

    /// The same for a culprit.
    pub fn score(&mut self, score: Score) {
        match self.culprits.iter_mut().find(|known| known.name == score.name) {
            Some(known) => *known = score,
            None => self.culprits.push(score),
        }
    }

    /// Takes in what was measured on `host`: curves of it that were not stay.
    pub fn renew_native(&mut self, mut group: Group, host: &str) {
        group.machine = format!("{NATIVE}{host}");
        let Some(known) = self.native.iter_mut().find(|known| known.machine == group.machine) else {
            return self.native.push(group);
        };
        let renewed = |curve: &Curve| group.curves.iter().any(|new| new.name == curve.name);
        let kept: Vec<Curve> = std::mem::take(&mut known.curves).into_iter().filter(|curve| !renewed(curve)).collect();
        group.curves.extend(kept);
        *known = group;
    }

    /// Sorts what is saved by kind, as the suite has it now. What the suite and the list of
    /// culprits do not have any more is left out, and headlines are judged by what the list asks for now.
    pub fn sort(&mut self, suite: &Suite, culprits: &[Culprit]) {
        self.published.retain(|group| suite.group.iter().any(|known| known.title == group.title));
        let of = |score: &Score| culprits.iter().position(|culprit| culprit.name == score.name);
        self.culprits.retain(|score| of(score).is_some());
        self.culprits.sort_by_key(of);
        for score in &mut self.culprits {
            if let Some(at) = of(score) {
                score.judge(&culprits[at]);
            }
        }
        for native in &mut self.native {
            let place = |curve: &Curve| suite.native.workload.iter().position(|w| w.title() == curve.name);
            native.curves.retain(|curve| place(curve).is_some());
            native.curves.sort_by_key(place);
        }
        self.native.retain(|host| !host.curves.is_empty());
        for group in self.native.iter_mut().chain(&mut self.published) {
            group.mark(suite);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u32, f64, f64)]) -> Curve {
        let point = |(threads, theirs, ours): &(u32, f64, f64)| Point {
            threads: *threads,
            theirs: *theirs,
            spread: (theirs * 0.99, theirs * 1.01),
            ours: *ours,
        };
        let points = points.iter().map(point).collect();
        Curve { points, ..Curve::called("c".into()) }
    }

    #[test]
    fn a_flat_curve_has_no_order() {
        assert_eq!(curve(&[(1, 12.0, 1.0), (2, 12.05, 2.0), (4, 12.9, 3.0)]).rank_correlation(), None);
    }

    #[test]
    fn ours_flat_agrees_in_nothing() {
        assert_eq!(curve(&[(1, 1.0, 5.0), (2, 2.0, 5.0), (4, 3.0, 5.0)]).rank_correlation(), Some(0.0));
        assert_eq!(curve(&[(1, 1.0, 5.0), (2, 2.0, 6.0), (4, 3.0, 7.0)]).rank_correlation(), Some(1.0));
    }

    #[test]
    fn curves_that_were_not_measured_again_stay() {
        let named = |name: &str, ours| Curve { name: name.into(), ..curve(&[(1, 1.0, ours)]) };
        let group = |curves| Group { title: "t".into(), source: "s".into(), pinned: true, curves, ..Group::default() };
        let mut results = Results::default();
        let now = |results: &Results, at: usize| {
            let host = &results.native[at];
            let curves = host.curves.iter().map(|c| (c.name.clone(), c.points[0].ours));
            (host.host().unwrap().to_owned(), curves.collect::<Vec<_>>())
        };
        results.renew_native(group(vec![named("a", 1.0), named("b", 1.0)]), "one");
        results.renew_native(group(vec![named("b", 2.0)]), "one");
        results.renew_native(group(vec![named("b", 3.0)]), "another");
        assert_eq!(now(&results, 0), ("one".into(), vec![("b".into(), 2.0), ("a".into(), 1.0)]));
        assert_eq!(now(&results, 1), ("another".into(), vec![("b".into(), 3.0)]));
    }

    #[test]
    fn knees_are_compared_by_point() {
        assert_eq!(curve(&[(1, 1.0, 1.0), (2, 2.0, 1.0), (4, 4.0, 4.0)]).knees(), (0, 1));
    }

    #[test]
    fn a_curve_bends_unless_it_is_flat_or_both_knees_are_at_one_end() {
        assert_eq!(curve(&[(1, 1.0, 1.0), (2, 2.0, 1.0), (4, 4.0, 4.0)]).bends(), Some((0, 1)));
        assert_eq!(curve(&[(1, 1.0, 1.0), (2, 2.0, 2.0), (4, 4.0, 4.0)]).bends(), None, "at the first point");
        assert_eq!(curve(&[(1, 1.0, 1.0), (2, 1.0, 2.0), (4, 1.0, 4.0)]).bends(), None, "theirs is flat");
        assert_eq!(curve(&[(1, 1.0, 1.0), (2, 2.0, 1.0), (4, 4.0, 4.0)]).same_knee(), Some(true));
        assert_eq!(curve(&[(1, 1.0, 1.0), (2, 2.0, 1.0), (4, 4.0, 1.0)]).same_knee(), Some(false), "two steps");
    }

    #[test]
    fn an_error_is_one_of_throughput() {
        let curve = curve(&[(1, 10.0, 20.0)]);
        assert_eq!(curve.points[0].error(), -0.5);
        assert_eq!(curve.points[0].factor(), 2.0);
    }

    #[test]
    fn what_does_not_count_is_left_out_point_by_point() {
        let mut curve = curve(&[(1, 10.0, 20.0), (2, 10.0, 20.0)]);
        assert_eq!(curve.counted().count(), 2);
        curve.withheld = Some(("N".into(), 3));
        assert_eq!(curve.counted().count(), 1, "what a constant is set from");
        curve.not_counted = vec![(2, "why".into())];
        assert_eq!((curve.counted().count(), curve.why_apart(&curve.points[1])), (0, Some("why")));
        curve.apart = Some("kernel".into());
        assert_eq!([0, 1].map(|at| curve.why_apart(&curve.points[at])), [Some("kernel"), Some("why")]);
    }

    #[test]
    fn what_varies_is_no_error() {
        let point = |ours| Point { threads: 1, theirs: 10.0, spread: (8.0, 20.0), ours };
        assert_eq!([4.0, 9.0, 20.0, 40.0].map(|ours| point(ours).factor_beyond()), [2.0, 1.0, 1.0, 2.0]);
    }
}
