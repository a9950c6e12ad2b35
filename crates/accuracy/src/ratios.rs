// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of two designs is better, and by how much: what is asked more often than how long one takes.
use crate::results::{Curve, Group, Point};
use crate::statistics::{factor, median};

/// Pairs that differ by less have no winner.
const DIFFER: f64 = 1.25;
/// The share of pairs whose winner is the published one, and the median error of the ratio.
pub const WINNERS: f64 = 0.95;
pub const MEDIAN: f64 = 0.20;

/// Below this factor two designs differ little.
const LITTLE: f64 = 2.0;

/// Pairs of a kind, and how many of them have the published winner.
#[derive(Debug, Default, PartialEq)]
pub struct Told {
    pub pairs: usize,
    pub right: usize,
}

impl Told {
    fn of<'a>(pairs: impl Iterator<Item = &'a (f64, f64)>) -> Told {
        pairs.fold(Told::default(), |told, &(theirs, ours)| Told {
            pairs: told.pairs + 1,
            right: told.right + usize::from((theirs > 1.0) == (ours > 1.0)),
        })
    }
}

/// Of all pairs of designs for one job, of one publication, on one machine, with as many threads.
#[derive(Debug, Default, PartialEq)]
pub struct Ratios {
    pub pairs: usize,
    /// Pairs in which the better one is better in both.
    pub right: usize,
    /// Of the factors between the two ratios, less 1.
    pub median: f64,
    /// Pairs that differ in the simulation, which is what a user knows; those of them that differ least.
    pub told: Told,
    pub told_little: Told,
}

impl Ratios {
    /// A native group's programs do different things.
    pub fn of<'a>(groups: impl Iterator<Item = &'a Group>) -> Ratios {
        let all: Vec<(f64, f64)> =
            groups.filter(|group| group.host().is_none() && !group.one_design).flat_map(pairs).collect();
        let differ = || all.iter().filter(|(theirs, _)| factor(*theirs, 1.0) > DIFFER);
        let errors: Vec<f64> = differ().map(|(theirs, ours)| factor(*ours, *theirs) - 1.0).collect();
        let told = || all.iter().filter(|(_, ours)| factor(*ours, 1.0) > DIFFER);
        let Told { pairs, right } = Told::of(differ());
        Ratios {
            pairs,
            right,
            median: median(&errors).unwrap_or(0.0),
            told: Told::of(told()),
            told_little: Told::of(told().filter(|(_, ours)| factor(*ours, 1.0) < LITTLE)),
        }
    }

    pub fn winners_are_reached(&self) -> bool {
        self.right as f64 >= WINNERS * self.pairs as f64
    }

    pub fn median_is_reached(&self) -> bool {
        self.median <= MEDIAN
    }
}

/// The published and the simulated ratio of each two points of two curves that count.
fn pairs(group: &Group) -> Vec<(f64, f64)> {
    let points: Vec<(usize, &Point)> =
        group.curves.iter().enumerate().flat_map(|(at, curve)| Curve::counted(curve).map(move |p| (at, p))).collect();
    let ratio = |(at, one): (usize, &Point), (other_at, other): (usize, &Point)| {
        let compared = at < other_at && one.threads == other.threads;
        compared.then(|| (one.theirs / other.theirs, one.ours / other.ours))
    };
    points.iter().flat_map(|one| points.iter().filter_map(|other| ratio(*one, *other))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(machine: &str, curves: &[&[(u32, f64, f64)]]) -> Group {
        let point = |(threads, theirs, ours): &(u32, f64, f64)| Point {
            threads: *threads,
            theirs: *theirs,
            spread: (*theirs, *theirs),
            ours: *ours,
        };
        let curve = |points: &&[(u32, f64, f64)]| Curve {
            points: points.iter().map(point).collect(),
            ..Curve::called("c".into())
        };
        let curves = curves.iter().map(curve).collect();
        Group {
            title: "t".into(),
            source: "s".into(),
            machine: machine.into(),
            pinned: true,
            curves,
            ..Group::default()
        }
    }

    #[test]
    fn points_with_as_many_threads_are_compared_if_they_differ() {
        let curves: [&[(u32, f64, f64)]; 3] =
            [&[(1, 10.0, 10.0), (2, 10.0, 10.0)], &[(1, 12.0, 5.0), (2, 20.0, 40.0)], &[(2, 40.0, 9.0)]];
        // 10 and 12 are alike. With two threads: 1/2 and not 1/4, 1/4 and not 10/9, 1/2 and not 40/9.
        let found = Ratios::of([group("m", &curves)].iter());
        assert_eq!((found.pairs, found.right), (3, 1));
        // Simulated: 10 and 5, 10 and 40, 40 and 9; 10 and 9 are alike. Factors of 2 or more are no little ones.
        assert_eq!((found.told.pairs, found.told.right, found.told_little.pairs), (3, 1, 0));
        assert!((found.median - (4.0 * 10.0 / 9.0 - 1.0)).abs() < 1e-9, "{found:?}");
        assert!(!found.winners_are_reached() && !found.median_is_reached());
        let one_design = Group { one_design: true, ..group("m", &curves) };
        assert_eq!(Ratios::of([one_design].iter()).pairs, 0);
        let same: [&[(u32, f64, f64)]; 2] = [&[(1, 10.0, 20.0)], &[(1, 20.0, 40.0)]];
        let told = Told { pairs: 1, right: 1 };
        assert_eq!(
            Ratios::of([group("m", &same)].iter()),
            Ratios { pairs: 1, right: 1, median: 0.0, told, told_little: Told::default() }
        );
        let little: [&[(u32, f64, f64)]; 2] = [&[(1, 10.0, 20.0)], &[(1, 11.0, 30.0)]];
        assert_eq!(Ratios::of([group("m", &little)].iter()).told_little, Told { pairs: 1, right: 1 });
    }

    #[test]
    fn programs_of_a_host_do_different_things() {
        let curves: [&[(u32, f64, f64)]; 2] = [&[(1, 10.0, 10.0)], &[(1, 20.0, 20.0)]];
        assert_eq!(Ratios::of([group("host: an EPYC", &curves)].iter()).pairs, 0);
    }
}
