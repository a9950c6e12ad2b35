// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads on this host, natively and on a profile that is calibrated meanwhile.
use crate::bench::{Bench, Native, On, Program};
use crate::progress::Progress;
use crate::results::{Curve, Group, Point};
use crate::suite::{Suite, Workload};
use anyhow::{Context, Result, ensure};
use corefold_calibrate::Measuring;
use corefold_calibrate::passes::{MOST_STOLEN, PASSES, take};
use std::time::Duration;

/// Numbers of threads.
const THREADS: [u32; 2] = [1, 2];

/// Passes at most, where the hypervisor takes its share of most of them.
const MOST_PASSES: usize = 12;

/// For how long it waits, in all, for the usual core-to-core latency to return.
const WAIT_BUDGET: Duration = Duration::from_secs(600);

/// The CPUs of two threads: each is pinned to that of its number.
const PAIR: (usize, usize) = (0, 1);

/// A workload, built in both ways.
struct Candidate<'a> {
    workload: &'a Workload,
    plain: Program,
    hooked: Program,
}

/// Of the trials of a workload, by number of threads: nanoseconds, or cycles of what a CPU does alone.
type Times = [Vec<f64>; THREADS.len()];

impl Candidate<'_> {
    fn build<'a>(bench: &Bench, workload: &'a Workload) -> Result<Candidate<'a>> {
        let source = format!("native/{}.c", workload.name);
        let (plain, hooked) = (bench.build_native(&source)?, bench.build_simulated(&source, &[])?);
        Ok(Candidate { workload, plain, hooked })
    }

    /// As calibration does: what a CPU does alone from the fast rounds, what CPUs do to each other from the median.
    fn alone(&self, threads: u32) -> bool {
        threads == 1 || self.workload.private
    }

    /// Trials of two CPUs at another than the usual core-to-core latency do not count.
    fn trials(&self, bench: &Bench, suite: &Suite, measuring: &Measuring) -> Result<Times> {
        let mut times = Times::default();
        for (times, threads) in times.iter_mut().zip(THREADS) {
            let alone = self.alone(threads);
            let trial = || bench.native(&self.plain, threads, suite.native.microseconds, alone);
            for _ in 0..suite.native.trials.div_ceil(PASSES) {
                let (time, counts) = if alone { (trial(), true) } else { measuring.together(trial) };
                times.extend(counts.then_some(time?));
            }
        }
        Ok(times)
    }

    /// `cycle`: nanoseconds of one.
    fn simulate(&self, bench: &Bench, suite: &Suite, machine: &str, cycle: f64, times: Times) -> Result<Curve> {
        let mut points = Vec::new();
        let mut wrongly_blamed = None;
        for (times, threads) in times.into_iter().zip(THREADS) {
            let alone = self.alone(threads);
            if times.is_empty() {
                eprintln!(
                    "warning: {}: no trial of {threads} threads at the usual core-to-core latency",
                    self.workload.name
                );
                continue;
            }
            let times = if alone { times.iter().map(|cycles| cycles * cycle).collect() } else { times };
            let times = Native::of(times, alone)?;
            let simulated =
                bench.simulated(&self.hooked, On::machine(machine), threads, suite.native.simulated_microseconds)?;
            if self.workload.private && simulated.blamed != "nothing" {
                wrongly_blamed = Some(simulated.blamed);
            }
            let point = Point { threads, theirs: times.typical, spread: times.spread, ours: simulated.nanoseconds };
            points.push(point);
        }
        let kind = Some(self.workload.kind);
        Ok(Curve { kind, points, wrongly_blamed, ..Curve::called(self.workload.title()) })
    }
}

/// Calibration and trials take turns, so that both see the host as it is in the same minutes.
pub fn measure(bench: &Bench, suite: &Suite, only: Option<&str>) -> Result<Group> {
    let chosen = |workload: &&Workload| only.is_none_or(|only| workload.name.contains(only));
    let workloads = suite.native.workload.iter().filter(chosen);
    let build = |workload| Candidate::build(bench, workload);
    let candidates = workloads.map(build).collect::<Result<Vec<Candidate>>>()?;
    let mut progress = Progress::of("native", PASSES + candidates.len());
    let measuring = Measuring::begin((std::thread::available_parallelism()?.get() > 1).then_some(PAIR), WAIT_BUDGET)?;
    let passes = take(MOST_PASSES, |number| {
        progress.step(&format!("calibration, and trials of all, pass {number}"));
        let trials = |candidate: &Candidate| candidate.trials(bench, suite, &measuring);
        Ok((measuring.pass()?, candidates.iter().map(trials).collect::<Result<Vec<Times>>>()?))
    })?;
    ensure!(
        passes.kept.iter().any(|(pass, _)| pass.is_as_usual()),
        "core-to-core latency changed during each pass: pin the virtual CPUs, or measure again"
    );
    let profile = bench.file("host.toml");
    let [kept, disturbed] = [&passes.kept, &passes.disturbed].map(|taken| taken.iter().map(|(pass, _)| pass));
    let calibration = measuring.end(kept, disturbed, passes.stolen)?;
    calibration.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    std::fs::write(&profile, calibration.text).with_context(|| format!("writing {}", profile.display()))?;
    let machine = profile.to_str().context("a path that is not text")?;
    let clock = calibration.figures.iter().find(|figure| figure.key == "topology.clock");
    let cycle = 1000.0 / clock.context("a calibration without a clock")?.value;
    let mut curves = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let name = &candidate.workload.name;
        progress.step(name);
        let [kept, disturbed] =
            [&passes.kept, &passes.disturbed].map(|taken| taken.iter().map(|(_, times)| &times[at]));
        let mut times = all(kept);
        // Of what a CPU does alone the least trial counts: what disturbs only adds.
        let more = all(disturbed);
        for ((times, threads), more) in times.iter_mut().zip(THREADS).zip(more) {
            times.extend(more.into_iter().filter(|_| candidate.alone(threads)));
        }
        curves.push(candidate.simulate(bench, suite, machine, cycle, times).with_context(|| name.clone())?);
    }
    let title = "Small programs, native".into();
    let source = format!(
        "Measured in the same run, after calibrating the host, in {PASSES} passes: of {} made, those with the least CPU \
         time stolen by the hypervisor, at most {:.1} %; a pass with more than {:.0} % was repeated. A trial of two \
         threads that share data counts if core-to-core latency, before it and after, is within a factor of 1.5 of its \
         median in the first second. Workloads without sharing are measured in cycles, since the clock frequency varies, and converted by the calibrated frequency",
        passes.taken,
        100.0 * passes.stolen,
        100.0 * MOST_STOLEN
    );
    Ok(Group { title, source, pinned: true, curves, ..Group::default() })
}

fn all<'a>(passes: impl Iterator<Item = &'a Times>) -> Times {
    passes.fold(Times::default(), |mut all, times| {
        all.iter_mut().zip(times).for_each(|(all, times)| all.extend(times));
        all
    })
}
