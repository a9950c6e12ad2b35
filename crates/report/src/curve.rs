// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scaling curve: throughput, speed-up and efficiency at each number of CPUs.
use crate::Work;
use crate::pace::{self, Basis};
use corefold_explain::Explained;

/// One run on the curve.
#[derive(Debug)]
pub struct Point<'a> {
    pub explained: &'a Explained,
    /// Visits a second over all progress points; `None` without progress points or without success.
    pub throughput: Option<f64>,
    /// Against [`Curve::base`], which counts as its own number of CPUs.
    pub speedup: Option<f64>,
    /// Speed-up ÷ CPUs.
    pub efficiency: Option<f64>,
    /// Work done, in a unit that all points share; `None` where that cannot be known.
    pub work: Option<f64>,
}

impl Point<'_> {
    pub fn cpus(&self) -> u32 {
        self.explained.run.cpus
    }

    /// Whether the run ended well; only such runs are measurements.
    pub fn finished(&self) -> bool {
        self.explained.ending.success
    }
}

/// All runs, by CPUs.
#[derive(Debug)]
pub struct Curve<'a> {
    pub basis: Basis,
    pub points: Vec<Point<'a>>,
}

impl<'a> Curve<'a> {
    pub fn new(runs: &'a [Explained], work: Work) -> Curve<'a> {
        let mut runs: Vec<&Explained> = runs.iter().collect();
        runs.sort_by_key(|r| r.run.cpus);
        let basis = basis(&runs, work);
        let mut points: Vec<Point> = runs.into_iter().map(|r| point(r, &basis)).collect();
        reckon_speedup(&mut points);
        Curve { basis, points }
    }

    pub fn finished(&self) -> impl DoubleEndedIterator<Item = &Point<'a>> {
        self.points.iter().filter(|p| p.finished())
    }

    pub fn failed(&self) -> impl DoubleEndedIterator<Item = &Point<'a>> {
        self.points.iter().filter(|p| !p.finished())
    }

    /// The smallest count that finished, and did work that is known: what speed-up is relative to.
    pub fn base(&self) -> Option<&Point<'a>> {
        self.finished().find(|p| p.work.is_some()).or_else(|| self.finished().next())
    }

    /// Counts that visited no progress point, where others did: nothing is known of their work.
    pub fn without_visits(&self) -> Vec<u32> {
        let none = |p: &&Point| self.has_throughput() && visits(p.explained) == 0;
        self.finished().filter(none).map(Point::cpus).collect()
    }

    /// The largest count that finished.
    pub fn last(&self) -> Option<&Point<'a>> {
        self.finished().next_back()
    }

    /// The count with the highest speed-up.
    pub fn best(&self) -> Option<&Point<'a>> {
        let speed = |p: &Point| p.speedup.unwrap_or(0.0);
        self.finished().filter(|p| p.speedup.is_some()).reduce(|best, p| if speed(p) > speed(best) { p } else { best })
    }

    /// The run that the report is about: the largest that finished, else the largest with any progress.
    pub fn subject(&self) -> Option<&Point<'a>> {
        self.last().or_else(|| self.points.iter().rev().find(|p| p.explained.run.time.total() > 0))
    }

    /// What a Universal Scalability Law is fitted to: throughput where there is any, else speed-up.
    pub fn measurements(&self) -> Vec<(u32, f64)> {
        let value = |p: &Point| {
            if self.has_throughput() { p.throughput } else { p.speedup }
        };
        self.finished().filter_map(|p| Some((p.cpus(), value(p)?))).collect()
    }

    /// Whether speed is throughput.
    pub fn has_throughput(&self) -> bool {
        matches!(self.basis, Basis::Progress(_))
    }

    /// How speed-up is computed, for the header.
    pub fn how(&self) -> String {
        let measure = match &self.basis {
            Basis::Progress(names) if names.len() == 1 => {
                format!("visits of `{}` per second", names[0])
            }
            Basis::Progress(_) => "visits of all progress points per second".into(),
            Basis::TotalWork => "time for the same total work".into(),
            Basis::WorkPerCpu => "time for the same work per CPU".into(),
            Basis::FixedTime { .. } => "basic blocks executed in a fixed time".into(),
        };
        match self.base().map(Point::cpus) {
            None | Some(1) => measure,
            Some(n) => format!("{measure}; {n} CPUs = {n}×"),
        }
    }
}

/// A curve has one unit: progress, if any run made some. Time is none for a run without, as its region of interest may have
/// begun when the work was done.
fn basis(runs: &[&Explained], work: Work) -> Basis {
    let mut names: Vec<String> = Vec::new();
    let mut finished = runs.iter().filter(|r| r.ending.success);
    for progress in runs.iter().flat_map(|r| &r.run.progress) {
        if !names.contains(&progress.name) {
            names.push(progress.name.clone());
        }
    }
    match work {
        _ if finished.any(|r| visits(r) > 0) => Basis::Progress(names),
        work => pace::basis(runs, work),
    }
}

/// Visits of all progress points.
pub fn visits(explained: &Explained) -> u64 {
    explained.run.progress.iter().map(|p| p.visits).sum()
}

fn point<'a>(explained: &'a Explained, basis: &Basis) -> Point<'a> {
    let run = &explained.run;
    let unknown = matches!(basis, Basis::FixedTime { counted: false, .. });
    let visited = !matches!(basis, Basis::Progress(_)) || visits(explained) > 0;
    let measured = explained.ending.success && run.cycles > 0 && !unknown && visited;
    let work = match basis {
        Basis::Progress(_) => visits(explained) as f64,
        Basis::TotalWork => 1.0,
        Basis::WorkPerCpu => f64::from(run.cpus),
        Basis::FixedTime { .. } => run.pace.blocks as f64,
    };
    let throughput =
        (measured && run.seconds > 0.0 && !run.progress.is_empty()).then(|| visits(explained) as f64 / run.seconds);
    Point { explained, throughput, speedup: None, efficiency: None, work: measured.then_some(work) }
}

/// Every finished point's speed (work ÷ cycles) against the first one's. A single count that is not 1
/// has no reference.
fn reckon_speedup(points: &mut [Point]) {
    let speed = |p: &Point| p.work.map(|work| work / p.explained.run.cycles as f64);
    let Some((base, first)) = points.iter().find_map(|p| Some((p.cpus(), speed(p)?))) else {
        return;
    };
    if base != 1 && points.iter().filter(|p| p.work.is_some()).all(|p| p.cpus() == base) {
        return;
    }
    for point in points {
        let cpus = f64::from(point.cpus());
        point.speedup = speed(point).map(|s| s / first * f64::from(base));
        point.efficiency = point.speedup.map(|s| s / cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{failed, progressing, timed};

    fn speedups(runs: &[Explained], work: Work) -> Vec<Option<f64>> {
        Curve::new(runs, work).points.iter().map(|p| p.speedup).collect()
    }

    #[test]
    fn without_progress_the_kind_of_work_decides() {
        let runs = [timed(1, 8000), timed(4, 4000), timed(8, 8000)];
        assert_eq!(speedups(&runs, Work::Total), [Some(1.0), Some(2.0), Some(1.0)]);
        assert_eq!(speedups(&runs, Work::PerCpu), [Some(1.0), Some(8.0), Some(8.0)]);
        let curve = Curve::new(&runs, Work::PerCpu);
        assert_eq!(curve.points[1].efficiency, Some(2.0));
        assert_eq!(curve.points[1].throughput, None);
        assert_eq!(curve.how(), "time for the same work per CPU");
    }

    #[test]
    fn progress_outweighs_the_kind_of_work() {
        let runs = [progressing(1, 2000, &[("op", 100)]), progressing(8, 1000, &[("op", 200)])];
        for work in [Work::Total, Work::PerCpu] {
            assert_eq!(speedups(&runs, work), [Some(1.0), Some(4.0)]);
        }
        let curve = Curve::new(&runs, Work::Total);
        assert_eq!(curve.points[1].throughput, Some(200.0 / 1e-6));
        assert_eq!(curve.how(), "visits of `op` per second");
    }

    #[test]
    fn several_progress_points_are_added_up() {
        let runs = [progressing(1, 1000, &[("get", 90), ("put", 10)]), progressing(2, 1000, &[("get", 150)])];
        let curve = Curve::new(&runs, Work::Total);
        assert_eq!(curve.points[0].throughput, Some(100.0 / 1e-6));
        assert_eq!(curve.points[1].speedup.map(|s| (s * 1e6).round()), Some(1.5e6));
        assert_eq!(curve.basis, Basis::Progress(vec!["get".into(), "put".into()]));
    }

    #[test]
    fn a_count_without_progress_has_no_speedup() {
        let runs = [timed(1, 500), progressing(2, 1000, &[("op", 7)]), progressing(4, 1000, &[("op", 14)])];
        let curve = Curve::new(&runs, Work::Total);
        assert_eq!(curve.points.iter().map(|p| p.speedup).collect::<Vec<_>>(), [None, Some(2.0), Some(4.0)]);
        assert_eq!((curve.base().map(Point::cpus), curve.without_visits()), (Some(2), vec![1]));
        assert_eq!(curve.points[0].throughput, None);
        let without = Curve::new(&runs[..1], Work::Total);
        assert_eq!((without.basis.clone(), without.without_visits()), (Basis::TotalWork, Vec::new()));
    }

    #[test]
    fn the_smallest_count_that_finished_counts_as_itself() {
        let runs = [timed(16, 1000), failed(1, "exited with code 3"), timed(8, 1000)];
        let curve = Curve::new(&runs, Work::PerCpu);
        assert_eq!(curve.points.iter().map(Point::cpus).collect::<Vec<_>>(), [1, 8, 16]);
        assert_eq!(curve.points.iter().map(|p| p.speedup).collect::<Vec<_>>(), [None, Some(8.0), Some(16.0)]);
        assert_eq!(curve.how(), "time for the same work per CPU; 8 CPUs = 8×");
        assert_eq!(curve.measurements(), [(8, 8.0), (16, 16.0)]);
    }

    #[test]
    fn one_count_alone_has_a_speedup_only_if_it_is_one() {
        assert_eq!(speedups(&[timed(1, 10)], Work::Total), [Some(1.0)]);
        assert_eq!(speedups(&[timed(80, 10)], Work::Total), [None]);
        assert_eq!(speedups(&[failed(80, "crashed")], Work::Total), [None]);
        assert!(speedups(&[], Work::Total).is_empty());
    }

    #[test]
    fn the_run_to_look_into_is_the_largest_that_finished() {
        let mut crashed = failed(80, "crashed");
        crashed.run.time.compute = 5;
        let runs = [crashed.clone(), timed(8, 10), timed(4, 10)];
        assert_eq!(Curve::new(&runs, Work::Total).subject().map(Point::cpus), Some(8));
        assert_eq!(Curve::new(&[crashed], Work::Total).subject().map(Point::cpus), Some(80));
        assert!(Curve::new(&[failed(80, "crashed")], Work::Total).subject().is_none());
    }
}
