// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads on this host, natively and on a profile that was calibrated just before.
use crate::bench::{Bench, finish};
use crate::progress::Progress;
use crate::results::{Curve, Group, Point};
use crate::suite::{Suite, Workload};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Calibrates anew.
pub fn calibrate(bench: &Bench) -> Result<PathBuf> {
    let profile = bench.file("host.toml");
    let mut command = Command::new(&bench.corefold);
    command.args(["machine", "calibrate", "-o"]).arg(&profile);
    let output = finish(command).context("calibrating this host")?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ok(profile)
}

pub fn measure(bench: &Bench, suite: &Suite, profile: &Path, only: Option<&str>) -> Result<Group> {
    let chosen = |workload: &&Workload| only.is_none_or(|only| workload.name.contains(only));
    let workloads: Vec<&Workload> = suite.native.workload.iter().filter(chosen).collect();
    let mut progress = Progress::of("native", workloads.len());
    let mut curves = Vec::new();
    for workload in workloads {
        progress.step(&workload.name);
        curves.push(measure_one(bench, suite, profile, workload).with_context(|| workload.name.clone())?);
    }
    let title = "Small programs on this host".into();
    let source = "measured in the same run, on a host calibrated in the same run".into();
    Ok(Group { title, source, machine: "host".into(), curves })
}

fn measure_one(bench: &Bench, suite: &Suite, profile: &Path, workload: &Workload) -> Result<Curve> {
    let (native, name) = (&suite.native, &workload.name);
    let source = format!("native/{name}.c");
    let (plain, hooked) = (bench.build_native(&source)?, bench.build_simulated(&source, &[])?);
    let machine = profile.to_str().context("a path that is not text")?;
    let mut points = Vec::new();
    let mut wrongly_blamed = None;
    for threads in [1, 2] {
        // As calibration does: what a CPU does alone from the fast rounds, what CPUs do to each other from the median.
        let alone = threads == 1 || workload.private;
        let times = bench.native(&plain, threads, native.microseconds, native.trials, alone)?;
        let simulated = bench.simulated(&hooked, machine, threads, native.simulated_microseconds)?;
        if workload.private && simulated.blamed != "nothing" {
            wrongly_blamed = Some(simulated.blamed);
        }
        let point = Point { threads, theirs: times.typical, spread: times.spread, ours: simulated.nanoseconds };
        points.push(point);
    }
    let kind = Some(workload.kind);
    Ok(Curve { name: workload.title(), kind, points, apart: None, withheld: None, wrongly_blamed })
}
