// SPDX-License-Identifier: MIT OR Apache-2.0
//! One program under many schedules: a run for each seed, as many at once as the host has cores.
//!
//! Seeds are handed out in the order of the list and failures told in that order, so that what is found
//! does not depend on which run was quicker.
use super::child::Launched;
use super::{Options, outcome, signals, tsan, wait};
use crate::exit;
use crate::scratch::Scratch;
use crate::seeds::Seeds;
use crate::{cpus, program, runtime};
use anyhow::{Context, Result};
use corefold_recording::{Run, Status};
use indicatif::{ProgressBar, ProgressStyle};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Runs kept whole; of more failures than that, only how they ended.
const KEPT: usize = 64;
/// Bytes of what a failing run printed.
const PRINTED: usize = 4096;

pub struct Search {
    /// With one number of CPUs. If it sets no limit of virtual time, the plain schedule decides it.
    pub options: Options,
    pub seeds: Seeds,
    /// Failures after which no more are looked for.
    pub stop_after: usize,
}

pub struct Searched {
    /// The plain schedule's run.
    pub plain: Run,
    /// The limit of virtual time that the others had.
    pub longest: Duration,
    /// Seeds that were run to their end, up to the last failure told.
    pub tried: u64,
    /// In the order of the list.
    pub failures: Vec<Failure>,
    /// Seeds whose schedule was still getting on when its time was up, in the same order.
    pub unfinished: Unfinished,
    pub interrupted: Option<i32>,
}

/// Whose time was up: nothing is known of these schedules.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// That of the host.
    pub host: Vec<u64>,
    /// Virtual time, up to the limit that nobody has set.
    pub longest: Vec<u64>,
}

impl Unfinished {
    pub fn is_empty(&self) -> bool {
        self.host.is_empty() && self.longest.is_empty()
    }
}

pub struct Failure {
    pub seed: u64,
    pub run: Run,
    /// The end of what the program printed.
    pub printed: Vec<u8>,
}

/// Runs the plain schedule, and if that ends well, those of the seeds.
pub fn explore(mut search: Search) -> Result<Searched> {
    cpus::check(&search.options.cpus, &search.options.machine)?;
    let program = program::check(&search.options.program)?;
    let runtime = runtime::find()?;
    let interrupts = signals::Interrupts::install().context("cannot watch for signals")?;
    let directory = Scratch::new()?;
    let jobs = super::jobs(&search.options, search.seeds.count());
    let memory_limit = search.options.memory_limit.unwrap_or_else(|| super::spare_memory() / jobs as u64);
    let placeholders = &tsan::placeholders(&program.needs_tsan, directory.path())?;
    let place =
        Place { program: &program.path, runtime: &runtime, placeholders, directory: directory.path(), memory_limit };
    let plain = place.worker("plain")?.run(&search.options, 0, &interrupts, false)?;
    let is_ours = search.options.longest.is_none();
    let longest = search.options.longest.unwrap_or_else(|| patience(&plain.run));
    search.options.longest = Some(longest);
    let fine = exit::of_status(&plain.run.status) == exit::FINE;
    let all = Pool {
        search: &search,
        is_ours,
        place: &place,
        interrupts: &interrupts,
        next: AtomicU64::new(if fine { 0 } else { u64::MAX }),
        done: Mutex::new(Done::default()),
        bar: bar(search.seeds.count(), fine),
    };
    std::thread::scope(|scope| (0..jobs).for_each(|job| drop(scope.spawn(move_to(&all, job)))));
    all.bar.finish_and_clear();
    let mut done = all.done.into_inner().expect("no worker panics");
    if let Some(error) = done.error {
        return Err(error);
    }
    done.settle(search.stop_after);
    let of = |which| done.unfinished.iter().filter(|(.., up)| *up == which).map(|(_, seed, _)| *seed).collect();
    let unfinished = Unfinished { host: of(Up::Host), longest: of(Up::Longest) };
    let mut failures: Vec<Failure> = done.failures.into_iter().map(|(_, failure)| failure).collect();
    let interrupted = interrupts.caught();
    if !fine && interrupted.is_none() {
        failures.push(Failure { seed: 0, run: plain.run.clone(), printed: plain.printed });
    }
    Ok(Searched { plain: plain.run, longest, tried: done.tried, failures, unfinished, interrupted })
}

fn move_to<'a>(pool: &'a Pool, job: usize) -> impl FnOnce() + 'a {
    move || pool.work(job)
}

/// Ten times the virtual time of the plain schedule, and a little for short ones, in whole milliseconds.
fn patience(plain: &Run) -> Duration {
    let seconds = plain.cycles as f64 / plain.clock_hz.max(1) as f64;
    Duration::from_millis((seconds * 10_000.0).ceil() as u64 + 50)
}

fn bar(seeds: u64, shown: bool) -> ProgressBar {
    if !shown {
        return ProgressBar::hidden();
    }
    let style = "exploring {wide_bar} {pos}/{len} seeds, {per_sec}, {eta} left{msg}";
    let style = ProgressStyle::with_template(style).expect("the template is well formed");
    let bar = ProgressBar::new(seeds).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// What all runs have in common.
struct Place<'a> {
    program: &'a Path,
    runtime: &'a Path,
    placeholders: &'a [PathBuf],
    directory: &'a Path,
    memory_limit: u64,
}

impl Place<'_> {
    /// Each worker has a directory of its own.
    fn worker(&self, name: &str) -> Result<Worker<'_>> {
        let directory = self.directory.join(name);
        std::fs::create_dir(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        Ok(Worker { place: self, directory })
    }
}

struct Worker<'a> {
    place: &'a Place<'a>,
    directory: PathBuf,
}

/// How one run ended; of one that ended well there is no more than that, if that is all that is wanted.
struct Ended {
    run: Run,
    printed: Vec<u8>,
}

impl Worker<'_> {
    fn run(&self, options: &Options, seed: u64, interrupts: &signals::Interrupts, quiet: bool) -> Result<Ended> {
        let Place { program, runtime, placeholders, memory_limit, .. } = *self.place;
        let launched =
            Launched { program, runtime, placeholders, directory: &self.directory, memory_limit, alone: false };
        let mut launch = launched.launch(options, options.cpus[0]);
        (launch.seed, launch.quiet, launch.explores) = (seed, quiet, true);
        if seed == 0 {
            launch.longest = 0;
        }
        let printed = launched.printed(launch.cpus);
        let _ = std::fs::remove_file(&launch.output);
        let _ = std::fs::remove_file(&printed);
        let mut child = launched.start(options, &launch)?;
        let ended = wait::wait(&mut child, options.timeout, interrupts)?;
        if quiet && ended.stopped.is_none() && ended.status.into_raw() == 0 {
            return Ok(Ended { run: Run { status: Status::Exited(0), ..Run::default() }, printed: Vec::new() });
        }
        let printed = std::fs::read(printed).unwrap_or_default();
        let printed = super::output::tail(&printed, PRINTED).to_vec();
        Ok(Ended { run: outcome::run(&launch, &ended), printed })
    }
}

/// Which time was up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Up {
    Host,
    Longest,
}

#[derive(Default)]
struct Done {
    tried: u64,
    /// By their place in the list.
    failures: Vec<(u64, Failure)>,
    unfinished: Vec<(u64, u64, Up)>,
    error: Option<anyhow::Error>,
}

impl Done {
    /// Everything in the order of the list, up to the last failure that is told: what happened to be under way
    /// beyond that does not count.
    fn settle(&mut self, most: usize) {
        self.failures.sort_by_key(|(place, _)| *place);
        self.unfinished.sort_unstable();
        self.failures.truncate(most);
        if self.failures.len() == most {
            self.tried = self.failures.last().map_or(0, |(place, _)| place + 1);
            self.unfinished.retain(|(place, ..)| *place < self.tried);
        }
    }
}

struct Pool<'a> {
    search: &'a Search,
    /// The limit of virtual time is a guess from the plain schedule.
    is_ours: bool,
    place: &'a Place<'a>,
    interrupts: &'a signals::Interrupts,
    /// Place in the list of the next seed.
    next: AtomicU64,
    done: Mutex<Done>,
    bar: ProgressBar,
}

impl Pool<'_> {
    fn work(&self, job: usize) {
        if let Err(error) = self.seeds(job) {
            self.next.store(u64::MAX, Ordering::Relaxed);
            self.done.lock().expect("no worker panics").error.get_or_insert(error);
        }
    }

    fn seeds(&self, job: usize) -> Result<()> {
        let worker = self.place.worker(&job.to_string())?;
        while let Some((place, seed)) = self.take() {
            let ended = worker.run(&self.search.options, seed, self.interrupts, true);
            let ended = ended.with_context(|| format!("at seed {seed}"))?;
            if self.interrupts.caught().is_some() {
                break;
            }
            self.ended(place, seed, ended);
        }
        Ok(())
    }

    fn take(&self) -> Option<(u64, u64)> {
        if self.interrupts.caught().is_some() {
            return None;
        }
        let one_more = |n: u64| n.checked_add(1);
        let place = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some((place, self.search.seeds.at(place)?))
    }

    /// It may take long on this host only, or longer than was guessed, as where the holder of a spin lock loses its CPU: that
    /// is no finding about the program.
    fn is_unfinished(&self, status: &Status) -> Option<Up> {
        match status {
            Status::TimedOut { advances: true, .. } => Some(Up::Host),
            Status::Livelock { spin: false, .. } if self.is_ours => Some(Up::Longest),
            _ => None,
        }
    }

    fn ended(&self, place: u64, seed: u64, ended: Ended) {
        let mut done = self.done.lock().expect("no worker panics");
        done.tried += 1;
        self.bar.inc(1);
        if exit::of_status(&ended.run.status) == exit::FINE {
            return;
        }
        if let Some(up) = self.is_unfinished(&ended.run.status) {
            return done.unfinished.push((place, seed, up));
        }
        let Ended { mut run, printed } = ended;
        if done.failures.len() >= KEPT {
            run = Run { status: run.status, ..Run::default() };
        }
        done.failures.push((place, Failure { seed, run, printed }));
        self.bar.set_message(format!("; {} found", done.failures.len()));
        if done.failures.len() >= self.search.stop_after {
            self.next.store(u64::MAX, Ordering::Relaxed);
        }
    }
}
