// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs rewritten from the description of published ones, on the profiles of the machines they ran on.
use crate::bench::{Bench, On, Program, Simulated};
use crate::data::{self, read as points_of};
use crate::progress::Progress;
use crate::results::{Curve, Group, Point};
use crate::side_by_side::side_by_side;
use crate::suite::{self, Suite};
use anyhow::{Context, Result};
use std::path::Path;

/// What of the suite is simulated, and on what.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// Machines and programs whose name has this text.
    pub only: Option<&'a str>,
    /// A mechanism of the model that is left out.
    pub without: Option<&'a str>,
    /// All published points, not only those that show the shapes of the curves; also of programs that take minutes.
    pub whole: bool,
}

/// Without all points: threads of two sockets of the largest machine. Beyond, a point may take a minute.
pub const MOST_OF_SHAPES: u32 = 56;

/// A curve whose program is built.
struct Candidate<'a> {
    group: &'a suite::Group,
    curve: &'a suite::Curve,
    withheld: Option<(String, u32)>,
    points: Vec<(data::Point, Program)>,
}

pub fn measure(bench: &Bench, suite: &Suite, data: &Path, scope: Scope<'_>) -> Result<Vec<Group>> {
    let chosen = |group: &&suite::Group| {
        let named = scope.only.is_none_or(|only| group.machine.contains(only) || group.program == only);
        named && (scope.whole || !group.slow)
    };
    let groups: Vec<&suite::Group> = suite.group.iter().filter(chosen).collect();
    let curves: Vec<_> =
        groups.iter().flat_map(|group| suite.curves_of(group).iter().map(move |c| (*group, c))).collect();
    let name = |group: &suite::Group, curve: &suite::Curve| format!("{}, {}", group.machine, curve.name);
    let progress = Progress::of("published: programs", curves.len());
    let built =
        side_by_side(progress, &curves, |(g, c)| name(g, c), |(g, c)| Candidate::build(bench, g, c, data, scope));
    let candidates = built.into_iter().collect::<Result<Vec<Candidate<'_>>>>()?;
    let all: Vec<_> = candidates.iter().flat_map(|of| of.points.iter().map(move |point| (of, point))).collect();
    let simulate = |(of, (point, program)): &(&Candidate<'_>, &(data::Point, Program))| {
        of.simulate(bench, scope, point.threads, program)
    };
    let progress = Progress::of("published: points", all.len());
    let mut simulated = side_by_side(progress, &all, |(of, _)| name(of.group, of.curve), simulate).into_iter();
    let mut measured: Vec<Group> = Vec::new();
    for candidate in &candidates {
        let group = candidate.group;
        if measured.last().is_none_or(|last| last.title != group.title) {
            let (title, source, machine) = (group.title.clone(), group.source.clone(), group.machine.clone());
            let (pinned, one_design) = (group.pinned, group.one_design);
            measured.push(Group { title, source, machine, pinned, one_design, curves: Vec::new() });
        }
        let simulated = simulated.by_ref().take(candidate.points.len()).collect::<Result<Vec<Simulated>>>()?;
        measured.last_mut().context("a curve of no group")?.curves.push(candidate.compare(&simulated));
    }
    Ok(measured)
}

impl<'a> Candidate<'a> {
    fn build(
        bench: &Bench,
        group: &'a suite::Group,
        curve: &'a suite::Curve,
        data: &Path,
        scope: Scope<'_>,
    ) -> Result<Candidate<'a>> {
        let file = curve.data.as_ref().or(group.data.as_ref()).context("no file of published points")?;
        let mut points = points_of(&data.join(file), curve.series.as_deref())?;
        let cpus = corefold_machine::load(&group.machine)?.machine.cpus();
        let shown = group.shown(curve);
        points.retain(|point| {
            let shows =
                scope.whole || (shown.is_empty() || shown.contains(&point.threads)) && point.threads <= MOST_OF_SHAPES;
            shows && point.threads <= cpus.min(group.most_threads(curve))
        });
        let source = format!("published/{}.c", group.program);
        let mut options = curve.options.clone();
        let mut withheld = None;
        if let Some(constant) = &curve.withheld {
            let first = points.first().filter(|point| point.threads == 1).context("no point with one thread")?;
            let value = set_by_one_thread(bench, group, on(group, scope), &source, &options, constant, first.value)?;
            options.push(format!("-D{}={value}", constant.name));
            withheld = Some((constant.name.clone(), value));
        }
        let program = match group.in_all {
            None => Some(bench.build_simulated(&source, &options)?),
            Some(_) => None,
        };
        let points = points.into_iter().map(|point| {
            if let Some(program) = &program {
                return Ok((point, program.clone()));
            }
            let options = [&options[..], &[format!("-DGROUP={}", point.threads)]].concat();
            Ok((point, bench.build_simulated(&source, &options)?))
        });
        Ok(Candidate { group, curve, withheld, points: points.collect::<Result<_>>()? })
    }

    fn simulate(&self, bench: &Bench, scope: Scope<'_>, threads: u32, program: &Program) -> Result<Simulated> {
        let microseconds = self.curve.microseconds.unwrap_or(self.group.microseconds);
        let threads = threads.max(self.group.in_all.unwrap_or(0));
        bench.simulated(program, on(self.group, scope), threads, microseconds)
    }

    fn compare(&self, simulated: &[Simulated]) -> Curve {
        let wrongly_blamed = simulated.iter().rev().find(|s| self.curve.private && s.blamed != "nothing");
        let wrongly_blamed = wrongly_blamed.map(|simulated| simulated.blamed.clone());
        let point = |((point, _), simulated): (&(data::Point, Program), &Simulated)| {
            let data::Point { threads, value, spread } = *point;
            Point { threads, theirs: value, spread, ours: simulated.nanoseconds }
        };
        let points = self.points.iter().zip(simulated).map(point).collect();
        let (kind, withheld) = (Some(self.curve.kind), self.withheld.clone());
        Curve { kind, points, withheld, wrongly_blamed, ..Curve::called(self.curve.name.clone()) }
    }
}

fn on<'a>(group: &'a suite::Group, scope: Scope<'a>) -> On<'a> {
    On { machine: &group.machine, placement: group.placement(), without: scope.without }
}

/// The constant with which one thread takes as long as was published: time grows in proportion to it.
fn set_by_one_thread(
    bench: &Bench,
    group: &suite::Group,
    on: On<'_>,
    source: &str,
    options: &[String],
    constant: &suite::Withheld,
    goal: f64,
) -> Result<u32> {
    let time = |value: u32| -> Result<f64> {
        let options = [options, &[format!("-D{}={value}", constant.name)]].concat();
        let program: Program = bench.build_simulated(source, &options)?;
        Ok(bench.simulated(&program, on, 1, group.microseconds)?.nanoseconds)
    };
    let (low, high) = constant.between;
    let (at_low, at_high) = (time(low)?, time(high)?);
    let share = (goal - at_low) / (at_high - at_low);
    Ok((f64::from(low) + share * f64::from(high - low)).round().clamp(1.0, f64::from(high) * 4.0) as u32)
}
