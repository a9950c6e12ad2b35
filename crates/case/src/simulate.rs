// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in the lab, through the command: as many at once as the host has cores.
use crate::locks::Releases;
use crate::results::Results;
use crate::spec::{Case, RESULTS, Run, SEED};
use anyhow::{Context, Result, anyhow, bail};
use corefold_driver::run::signals;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Deserialize;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Of the host, for one run that says nothing else.
const TIMEOUT: u64 = 3600;

#[derive(Clone)]
pub struct Request {
    pub name: String,
    pub machine: String,
    pub cpus: u32,
    pub args: Vec<String>,
    /// Seconds of virtual time after which the run is given up.
    pub longest: Option<f64>,
    /// Where its recording is wanted.
    pub recording: Option<PathBuf>,
}

impl Request {
    /// One for each of the run's seeds.
    pub fn of(case: &Case, name: &str, run: &Run) -> Vec<Request> {
        let (args, machine) = (case.arguments(run), run.machine.as_ref().unwrap_or(&case.machine).clone());
        let one = Request { name: name.to_owned(), machine, cpus: run.cpus, args, longest: None, recording: None };
        let with = |seed: u64| one.args.iter().map(|arg| arg.replace(SEED, &seed.to_string())).collect();
        (1..=run.seeds).map(|seed| Request { args: with(seed), ..one.clone() }).collect()
    }
}

/// What is taken from a report: docs/output.md.
#[derive(Deserialize)]
pub struct Report {
    runs: [Simulated; 1],
}

#[derive(Deserialize, Clone)]
pub struct Simulated {
    pub finished: bool,
    pub seconds: f64,
    /// By the program's own account, where it gives one.
    pub throughput: Option<f64>,
    pub ending: Ending,
    pub functions: Vec<Function>,
    /// What the program counted itself.
    #[serde(skip)]
    pub releases: Option<Releases>,
}

#[derive(Deserialize, Clone)]
pub struct Ending {
    pub summary: String,
}

#[derive(Deserialize, Clone)]
pub struct Function {
    pub name: String,
    pub total_percent: f64,
}

/// All of them, in their order; the first that fails ends it.
pub fn simulate_all(corefold: &Path, place: &Path, requests: &[(&Path, Request)]) -> Result<Vec<Simulated>> {
    let bar = bar(requests.len());
    let one = |(program, request): &(&Path, Request)| {
        let run = simulate(corefold, program, place, request)?;
        match run.finished {
            true => Ok(run),
            false => bail!("the run {:?} {}", request.name, run.ending.summary),
        }
    };
    in_parallel(requests, &bar, one)
}

/// Hidden by itself where stderr is no terminal.
pub fn bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("simulating {wide_bar} {pos}/{len} runs, {eta} left");
    let bar = ProgressBar::new(steps as u64).with_style(style.expect("the template is well formed"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// For steps that nobody waits for long.
pub fn hidden(steps: usize) -> ProgressBar {
    ProgressBar::with_draw_target(Some(steps as u64), indicatif::ProgressDrawTarget::hidden())
}

/// Results in the order of `items`; nothing more is begun after a failure.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    bar: &ProgressBar,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let done: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        while failed.lock().expect("no worker panics").is_none() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            match work(item) {
                Ok(result) => *done[at].lock().expect("no worker panics") = Some(result),
                Err(error) => *failed.lock().expect("no worker panics") = Some(error),
            }
            bar.inc(1);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(worker))));
    bar.finish_and_clear();
    if let Some(error) = failed.into_inner().expect("no worker panics") {
        return Err(error);
    }
    Ok(done.into_iter().map(|slot| slot.into_inner().expect("no worker panics").expect("each is done")).collect())
}

/// One run, however it ends.
pub fn simulate(corefold: &Path, program: &Path, place: &Path, request: &Request) -> Result<Simulated> {
    let files = tempfile::Builder::new().tempdir_in(place)?;
    let results = files.path().join("results");
    let mut command = Command::new(corefold);
    command.args(["run", "--json", "-", "--timeout", &TIMEOUT.to_string(), "--machine", &request.machine]);
    command.args(["--cpus", &request.cpus.to_string()]).args(request.longest.map(|s| format!("--longest={s:.9}")));
    let recording = request.recording.clone().unwrap_or_else(|| files.path().join("rec"));
    command.arg("-o").arg(recording).arg("--").arg(program).args(with_results(&request.args, &results));
    // Asked to end so, it stops the program that it simulates, and removes its files.
    signals::end_with_us(&mut command, signals::END);
    let done = command.output().with_context(|| format!("cannot start {}", corefold.display()))?;
    let report = serde_json::from_slice::<Report>(&done.stdout).map_err(|error| {
        anyhow!("the run {:?} left no report ({error}):\n{}", request.name, String::from_utf8_lossy(&done.stderr))
    })?;
    let [mut run] = report.runs;
    if results.is_file() {
        let said = Results::read(&results).with_context(|| format!("the run {:?}", request.name))?;
        run.throughput = Some(said.throughput);
        run.releases = Releases::of(said, program)?;
    }
    Ok(run)
}

/// The arguments, with the name of the file that results go to.
pub fn with_results(args: &[String], results: &Path) -> Vec<String> {
    args.iter().map(|arg| arg.replace(RESULTS, &results.to_string_lossy())).collect()
}
