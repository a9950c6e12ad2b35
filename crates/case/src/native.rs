// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same program on this host's own cores.
use crate::program::Sources;
use crate::results::Results;
use crate::simulate::with_results;
use crate::spec::{Case, Run, SEED};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Runs each, of which the fastest counts: others on the host can only slow it down.
const ROUNDS: usize = 7;

/// Compiles a build when it is needed, and keeps what was measured.
pub struct Native<'a> {
    case: &'a Case,
    sources: Box<dyn Fn() -> Result<Sources> + 'a>,
    place: &'a Path,
    built: Mutex<HashMap<String, PathBuf>>,
    known: Mutex<HashMap<(String, Vec<String>), f64>>,
}

impl<'a> Native<'a> {
    pub fn new(case: &'a Case, place: &'a Path, sources: impl Fn() -> Result<Sources> + 'a) -> Native<'a> {
        Native { case, sources: Box::new(sources), place, built: Mutex::default(), known: Mutex::default() }
    }

    /// Whether the host has as many cores.
    pub fn has(cpus: u32) -> bool {
        std::thread::available_parallelism().is_ok_and(|cores| cores >= NonZero::new(cpus as usize).unwrap_or(cores))
    }

    /// What the program says that it does in a second.
    pub fn throughput(&self, run: &Run) -> Result<f64> {
        let name = build_name(run);
        let args = self.case.arguments(run).iter().map(|arg| arg.replace(SEED, "1")).collect();
        let key = (name.to_owned(), args);
        let mut known = self.known.lock().expect("nobody panics");
        if let Some(&best) = known.get(&key) {
            return Ok(best);
        }
        let program = self.program(name)?;
        let results = self.place.join("native-results");
        let rounds = (0..ROUNDS).map(|_| once(&program, &key.1, &results)).collect::<Result<Vec<_>>>()?;
        let best = rounds.into_iter().fold(0.0, f64::max);
        known.insert(key, best);
        Ok(best)
    }

    fn program(&self, build: &str) -> Result<PathBuf> {
        let mut built = self.built.lock().expect("nobody panics");
        if let Some(program) = built.get(build) {
            return Ok(program.clone());
        }
        let flags = self.case.builds.get(build).map_or(&[][..], |build| &build.flags);
        let program = (self.sources)()?.compile(build, flags, self.place)?;
        built.insert(build.to_owned(), program.clone());
        Ok(program)
    }
}

/// Empty where a run names none.
pub fn build_name(run: &Run) -> &str {
    run.build.as_deref().unwrap_or_default()
}

/// What it says of itself in its results, or else in a line of what it prints.
fn once(program: &Path, args: &[String], results: &Path) -> Result<f64> {
    let done = Command::new(program).args(with_results(args, results)).output();
    let done = done.context("cannot start the native program")?;
    let printed = String::from_utf8_lossy(&done.stdout);
    let line = || printed.lines().find_map(|line| line.strip_prefix("throughput ")?.trim().parse().ok());
    let said = Results::read(results).ok().map(|said| said.throughput);
    match said.or_else(line).filter(|_| done.status.success()) {
        Some(rate) => Ok(rate),
        None => bail!("natively, {args:?} failed: {}{}", printed, String::from_utf8_lossy(&done.stderr)),
    }
}
