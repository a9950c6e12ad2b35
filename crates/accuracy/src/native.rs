// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads on this host, natively and on a profile that is calibrated meanwhile.
use crate::bench::{Bench, Native, Program};
use crate::progress::Progress;
use crate::results::{Curve, Group, Point};
use crate::suite::{Suite, Workload};
use anyhow::{Context, Result};
use corefold_calibrate::{Measuring, PASSES};

/// Numbers of threads.
const THREADS: [u32; 2] = [1, 2];

/// A workload, built in both ways, and what its trials said so far.
struct Candidate<'a> {
    workload: &'a Workload,
    plain: Program,
    hooked: Program,
    times: [Vec<f64>; THREADS.len()],
}

impl Candidate<'_> {
    fn build<'a>(bench: &Bench, workload: &'a Workload) -> Result<Candidate<'a>> {
        let source = format!("native/{}.c", workload.name);
        let (plain, hooked) = (bench.build_native(&source)?, bench.build_simulated(&source, &[])?);
        Ok(Candidate { workload, plain, hooked, times: Default::default() })
    }

    /// As calibration does: what a CPU does alone from the fast rounds, what CPUs do to each other from the median.
    fn alone(&self, threads: u32) -> bool {
        threads == 1 || self.workload.private
    }

    fn pass(&mut self, bench: &Bench, suite: &Suite) -> Result<()> {
        for (at, threads) in THREADS.into_iter().enumerate() {
            for _ in 0..suite.native.trials.div_ceil(PASSES) {
                let time = bench.native(&self.plain, threads, suite.native.microseconds, self.alone(threads))?;
                self.times[at].push(time);
            }
        }
        Ok(())
    }

    fn simulate(self, bench: &Bench, suite: &Suite, machine: &str) -> Result<Curve> {
        let mut points = Vec::new();
        let mut wrongly_blamed = None;
        for (at, threads) in THREADS.into_iter().enumerate() {
            let times = Native::of(self.times[at].clone(), self.alone(threads))?;
            let simulated = bench.simulated(&self.hooked, machine, threads, suite.native.simulated_microseconds)?;
            if self.workload.private && simulated.blamed != "nothing" {
                wrongly_blamed = Some(simulated.blamed);
            }
            let point = Point { threads, theirs: times.typical, spread: times.spread, ours: simulated.nanoseconds };
            points.push(point);
        }
        let kind = Some(self.workload.kind);
        Ok(Curve { name: self.workload.title(), kind, points, apart: None, withheld: None, wrongly_blamed })
    }
}

/// Calibration and trials take turns, so that both see the host as it is in the same minutes.
pub fn measure(bench: &Bench, suite: &Suite, only: Option<&str>) -> Result<Group> {
    let chosen = |workload: &&Workload| only.is_none_or(|only| workload.name.contains(only));
    let workloads = suite.native.workload.iter().filter(chosen);
    let build = |workload| Candidate::build(bench, workload);
    let mut candidates = workloads.map(build).collect::<Result<Vec<Candidate>>>()?;
    let mut progress = Progress::of("native", 2 * PASSES + candidates.len());
    let mut measuring = Measuring::begin()?;
    for pass in 1..=PASSES {
        progress.step(&format!("calibration, pass {pass}"));
        measuring.pass();
        progress.step(&format!("trials of all, pass {pass}"));
        candidates.iter_mut().try_for_each(|candidate| candidate.pass(bench, suite))?;
    }
    let profile = bench.file("host.toml");
    let calibration = measuring.end()?;
    calibration.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    std::fs::write(&profile, calibration.text).with_context(|| format!("writing {}", profile.display()))?;
    let machine = profile.to_str().context("a path that is not text")?;
    let mut curves = Vec::new();
    for candidate in candidates {
        let name = &candidate.workload.name;
        progress.step(name);
        curves.push(candidate.simulate(bench, suite, machine).with_context(|| name.clone())?);
    }
    let title = "Small programs on this host".into();
    let source = "measured in the same run, on a host calibrated in the same run".into();
    Ok(Group { title, source, machine: "host".into(), curves })
}
