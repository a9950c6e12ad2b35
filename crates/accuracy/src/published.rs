// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs rewritten from the description of published ones, on the profiles of the machines they ran on.
use crate::bench::{Bench, On, Program};
use crate::data::{self, read as points_of};
use crate::progress::Progress;
use crate::results::{Curve, Group, Point};
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
    pub most_threads: u32,
    pub slow_ones: bool,
}

pub fn measure(bench: &Bench, suite: &Suite, data: &Path, scope: Scope<'_>) -> Result<Vec<Group>> {
    let only = scope.only;
    let chosen = |group: &&suite::Group| only.is_none_or(|only| group.machine.contains(only) || group.program == only);
    let in_time = |group: &&suite::Group| scope.slow_ones || !group.slow;
    let groups: Vec<&suite::Group> = suite.group.iter().filter(chosen).filter(in_time).collect();
    let mut progress = Progress::of("published", groups.iter().map(|group| suite.curves_of(group).len()).sum());
    let mut measured = Vec::new();
    for group in groups {
        let mut of_group = Vec::new();
        for curve in suite.curves_of(group) {
            progress.step(&format!("{}, {}", group.machine, curve.name));
            of_group.push(measure_curve(bench, group, curve, data, scope).with_context(|| curve.name.clone())?);
        }
        let (title, source, machine) = (group.title.clone(), group.source.clone(), group.machine.clone());
        measured.push(Group { title, source, machine, pinned: group.pinned, curves: of_group });
    }
    Ok(measured)
}

fn measure_curve(
    bench: &Bench,
    group: &suite::Group,
    curve: &suite::Curve,
    data: &Path,
    scope: Scope<'_>,
) -> Result<Curve> {
    let file = curve.data.as_ref().or(group.data.as_ref()).context("no file of published points")?;
    let mut published = points_of(&data.join(file), curve.series.as_deref())?;
    let threads = if curve.threads.is_empty() { &group.threads } else { &curve.threads };
    if !threads.is_empty() {
        published.retain(|point| threads.contains(&point.threads));
    }
    published.retain(|point| point.threads <= scope.most_threads);
    let on = On { machine: &group.machine, placement: group.placement(), without: scope.without };
    let source = format!("published/{}.c", group.program);
    let mut options = curve.options.clone();
    let mut withheld = None;
    if let Some(constant) = &curve.withheld {
        let first = published.first().filter(|point| point.threads == 1).context("no point with one thread")?;
        let value = set_by_one_thread(bench, group, on, &source, &options, constant, first.value)?;
        options.push(format!("-D{}={value}", constant.name));
        withheld = Some((constant.name.clone(), value));
    }
    let microseconds = curve.microseconds.unwrap_or(group.microseconds);
    let program = bench.build_simulated(&source, &options)?;
    let mut points = Vec::new();
    let mut wrongly_blamed = None;
    for point in published {
        let simulated = bench.simulated(&program, on, point.threads, microseconds)?;
        if curve.private && simulated.blamed != "nothing" {
            wrongly_blamed = Some(simulated.blamed);
        }
        let data::Point { threads, value, spread } = point;
        points.push(Point { threads, theirs: value, spread, ours: simulated.nanoseconds });
    }
    Ok(Curve { kind: Some(curve.kind), points, withheld, wrongly_blamed, ..Curve::called(curve.name.clone()) })
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
