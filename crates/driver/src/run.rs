// SPDX-License-Identifier: MIT OR Apache-2.0
//! Simulated runs: one child process for each number of CPUs, as many at once as the host has cores.
//!
//! The largest count starts first, because it takes longest; results come in the order of counts.
//! Whatever becomes of a child, there is a [`Run`] for it that says so.
mod blocked;
mod child;
pub mod explore;
pub mod host;
mod options;
mod outcome;
mod output;
mod preload;
pub mod signals;
pub mod trials;
mod tsan;
mod wait;

use crate::scratch::Scratch;
use crate::{cpus, program, runtime};
use anyhow::{Context, Result};
use child::Launched;
use corefold_recording::{HostUse, Run};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
pub use options::Options;
use std::collections::BTreeMap;
use std::fmt;
use std::io::IsTerminal;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Mean cycles between two samples: fine enough for short programs, cheap enough for long ones.
pub const SAMPLE_PERIOD: u64 = 10_000;

pub struct Finished {
    /// In the order of CPUs.
    pub runs: Vec<Run>,
    /// What was measured of the host, by CPUs; it differs from run to run and does not belong into a recording.
    pub host: BTreeMap<u32, HostUse>,
    /// Runs that were simulated at the same time, at most.
    pub at_once: usize,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
}

/// Checks what can be checked, then simulates.
pub fn run(options: &Options) -> Result<Finished> {
    cpus::check(&options.cpus, &options.machine)?;
    let program = program::check(&options.program)?;
    let runtime = runtime::find()?;
    // Before the directory: from then on a signal lets it be removed.
    let interrupts = signals::Interrupts::install().context("cannot watch for signals")?;
    let directory = Scratch::new()?;
    let placeholders = tsan::placeholders(&program.needs_tsan, directory.path())?;
    let jobs = jobs(options, options.cpus.len() as u64);
    let all = Points {
        options,
        launched: Launched {
            program: &program.path,
            runtime: &runtime,
            placeholders: &placeholders,
            directory: directory.path(),
            memory_limit: options.memory_limit.unwrap_or_else(|| spare_memory() / jobs as u64),
            alone: options.cpus.len() == 1,
        },
        interrupts: &interrupts,
        next: AtomicUsize::new(options.cpus.len()),
        done: Mutex::new(BTreeMap::new()),
        host: Mutex::new(BTreeMap::new()),
        bar: bar(options.cpus.len()),
        begun: Instant::now(),
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(|| all.work()))));
    all.bar.finish_and_clear();
    let runs = all.done.into_inner().expect("no worker panics").into_iter();
    let runs = runs.map(|(_, run)| run).collect::<Result<Vec<Run>>>()?;
    output::show(&all.launched, &runs);
    let host = all.host.into_inner().expect("no worker panics");
    Ok(Finished { runs, host, at_once: jobs, interrupted: interrupts.caught() })
}

fn jobs(options: &Options, runs: u64) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    options.jobs.map_or_else(cores, NonZero::get).min(usize::try_from(runs).unwrap_or(usize::MAX)).max(1)
}

/// Three quarters of what the host has left, so that a program that leaks ends with a message and
/// not with the host's out-of-memory killer.
fn spare_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|l| l.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024 / 4 * 3)
}

/// Hidden by itself where stderr is no terminal; one count needs none, its program prints by itself.
fn bar(points: usize) -> ProgressBar {
    if points == 1 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("simulating {wide_bar} {pos}/{len} counts of CPUs in {elapsed}{left}");
    let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
        // Before the first is done nothing is known.
        if state.pos() > 0 {
            let _ = write!(out, ", {:#} left", HumanDuration(state.eta()));
        }
    };
    let style = style.expect("the template is well formed").with_key("left", left);
    let bar = ProgressBar::new(points as u64).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The counts still to do, and what became of the others.
struct Points<'a> {
    options: &'a Options,
    launched: Launched<'a>,
    interrupts: &'a signals::Interrupts,
    /// How many of `options.cpus`, from the front, are not yet started.
    next: AtomicUsize,
    done: Mutex<BTreeMap<u32, Result<Run>>>,
    host: Mutex<BTreeMap<u32, HostUse>>,
    bar: ProgressBar,
    begun: Instant,
}

/// A run that lasts longer tells without a terminal, too, how far it is.
const LONG: Duration = Duration::from_secs(10);

impl Points<'_> {
    /// What each worker does until nothing is left. The thread that starts a child waits for it: the
    /// kernel kills the child if that thread ends.
    fn work(&self) {
        while let Some(cpus) = self.take() {
            let run = self.point(cpus).with_context(|| format!("at {cpus} CPUs"));
            let mut done = self.done.lock().expect("no worker panics");
            done.insert(cpus, run);
            self.bar.inc(1);
            self.tell(done.len());
        }
    }

    /// Where no terminal shows the bar, a line says what is done of a long run.
    fn tell(&self, done: usize) {
        let (all, elapsed) = (self.options.cpus.len(), self.begun.elapsed());
        if done < all && elapsed >= LONG && !std::io::stderr().is_terminal() {
            eprintln!("corefold: {done} of {all} counts of CPUs simulated in {:#}", HumanDuration(elapsed));
        }
    }

    fn take(&self) -> Option<u32> {
        if self.interrupts.caught().is_some() {
            return None;
        }
        let one_less = |n: usize| n.checked_sub(1);
        let left = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).ok()?;
        Some(self.options.cpus[left - 1])
    }

    fn point(&self, cpus: u32) -> Result<Run> {
        let launch = self.launched.launch(self.options, cpus);
        let mut child = self.launched.start(self.options, &launch)?;
        let ended = wait::wait(&mut child, self.options.timeout, self.interrupts)?;
        if let Some(measured) = host::measured(&launch) {
            self.host.lock().expect("no worker panics").insert(cpus, measured);
        }
        Ok(Run { work: self.options.work, ..outcome::run(&launch, &ended) })
    }
}
