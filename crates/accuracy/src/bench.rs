// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds workloads, and runs them natively and simulated.
use crate::command::finish;
use crate::kept::Kept;
use crate::statistics::median;
use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What culprits are simulated on.
pub const MACHINE: &str = corefold_machine::DEFAULT;

/// What a simulated run said.
#[derive(Deserialize, Serialize)]
pub struct Simulated {
    pub nanoseconds: f64,
    /// What the report blames: `nothing`, or the kind of culprit.
    pub blamed: String,
    /// What it took of the host; none if it is a kept result.
    #[serde(skip)]
    seconds: Option<f64>,
}

/// What several native runs said.
pub struct Native {
    /// Of what CPUs do to each other the median of the trials; of what each does alone the least, as disturbances
    /// only add.
    pub typical: f64,
    /// The quartiles.
    pub spread: (f64, f64),
}

impl Native {
    pub fn of(mut times: Vec<f64>, alone: bool) -> Result<Native> {
        times.sort_by(f64::total_cmp);
        let typical = if alone { times.first().copied() } else { median(&times) };
        let quartile = |of: usize| times[(times.len() - 1) * of / 4];
        Ok(Native { typical: typical.context("no trials")?, spread: (quartile(1), quartile(3)) })
    }
}

/// What a run is simulated on.
#[derive(Clone, Copy)]
pub struct On<'a> {
    pub machine: &'a str,
    pub placement: &'a str,
    /// A mechanism that is left out.
    pub without: Option<&'a str>,
}

impl On<'_> {
    pub fn machine(machine: &str) -> On<'_> {
        On { machine, placement: corefold_machine::COMPACT, without: None }
    }
}

/// Where things are, and where they are built.
pub struct Bench {
    pub corefold: PathBuf,
    /// The folder `accuracy`.
    pub sources: PathBuf,
    place: tempfile::TempDir,
    built: AtomicUsize,
    /// The host's time of simulated runs; none if one of them is a kept result.
    seconds: Mutex<Option<f64>>,
    kept: Kept,
    /// Public packages are built in folders that their programs share, one at a time.
    packages: Mutex<()>,
}

/// One compiled workload.
#[derive(Clone)]
pub struct Program(PathBuf);

/// A workload and its source in a folder of their own, where a patch may change it.
pub struct Copy {
    folder: PathBuf,
    /// What builds it there: a shell command.
    build: String,
    pub program: PathBuf,
}

impl Program {
    pub fn path(self) -> PathBuf {
        self.0
    }
}

/// Trials at most, where others take a CPU.
const MOST_TRIALS: usize = 5;
/// For what share of a trial they may have it.
const MOST_PREEMPTED: f64 = 0.02;

/// Seconds that a run may take, on a host that does other things as well: a run that is cut off is a wrong result.
const LONGEST: &str = "3600";
const FLAGS: [&str; 4] = ["-O2", "-g", "-Wall", "-pthread"];

impl Bench {
    /// Results are kept in the file `kept`.
    pub fn new(corefold: &Path, sources: &Path, kept: Option<PathBuf>) -> Result<Bench> {
        let corefold = corefold.canonicalize().with_context(|| format!("no {}: make build", corefold.display()))?;
        let place = tempfile::tempdir().context("no place for temporary files")?;
        let sources = sources.to_owned();
        // The command line and what is read of its output are this one's.
        let this = std::env::current_exe().context("finding this executable")?;
        let kept = Kept::open(kept, &[this, corefold.clone(), corefold_driver::runtime::of(&corefold)?])?;
        Ok(Bench {
            corefold,
            sources,
            place,
            built: AtomicUsize::new(0),
            seconds: Mutex::new(Some(0.0)),
            kept,
            packages: Mutex::default(),
        })
    }

    /// What simulated runs have taken of the host since the last call; none if one of them is a kept result.
    pub fn take_seconds(&self) -> Option<f64> {
        self.seconds.lock().expect("nobody panics with it").replace(0.0)
    }

    /// A place for a file of this name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn build_native(&self, source: &str) -> Result<Program> {
        self.build(Command::new("gcc"), source, &[])
    }

    pub fn build_simulated(&self, source: &str, options: &[String]) -> Result<Program> {
        let mut command = Command::new(&self.corefold);
        command.arg(if source.ends_with(".cc") { "c++" } else { "cc" });
        self.build(command, source, options)
    }

    fn build(&self, mut compiler: Command, source: &str, options: &[String]) -> Result<Program> {
        let program = self.file(&format!("program{}", self.built.fetch_add(1, Ordering::Relaxed)));
        compiler.args(FLAGS).args(options).arg(self.sources.join(source)).arg("-o").arg(&program);
        finish(compiler).with_context(|| format!("building {source}"))?;
        Ok(Program(program))
    }

    /// One trial: nanoseconds of an operation, `alone` cycles of those in batches that nothing disturbed. Where others
    /// took a thread's CPU meanwhile there is another trial; of so many the least disturbed counts.
    pub fn native(&self, program: &Program, threads: u32, microseconds: u64, alone: bool) -> Result<f64> {
        let few = microseconds as f64 * 1000.0 * MOST_PREEMPTED;
        let trials = (0..MOST_TRIALS).map(|_| self.trial(program, threads, microseconds, alone));
        let mut least: Result<(f64, f64)> = Err(anyhow!("no trial"));
        for trial in trials {
            match (&least, trial) {
                (_, Ok((preempted, time))) if preempted <= few => return Ok(time),
                (Ok((fewest, _)), Ok((preempted, _))) if *fewest <= preempted => (),
                (Ok(_), Err(_)) => (),
                (_, trial) => least = trial,
            }
        }
        least.map(|(_, time)| time)
    }

    /// For how many nanoseconds a thread waited for its CPU, and the time of an operation.
    fn trial(&self, program: &Program, threads: u32, microseconds: u64, alone: bool) -> Result<(f64, f64)> {
        let mut command = Command::new(&program.0);
        command.arg(threads.to_string()).arg(microseconds.to_string());
        command.arg(if alone { "alone" } else { "together" });
        let output = finish(command)?.stdout;
        let time = time(&output, if alone { "cycles_undisturbed" } else { "ns_per_operation" })?;
        Ok((number(&output, "ns_preempted")?, time))
    }

    /// A kept result, or a new one.
    pub fn simulated(&self, program: &Program, on: On<'_>, threads: u32, microseconds: u64) -> Result<Simulated> {
        let mut machine = corefold_machine::load(on.machine)?.machine;
        corefold_machine::place(&mut machine, on.placement)?;
        // With a placement it has the name of a file in it.
        machine.name.clear();
        let settings = format!("{machine:?} {:?} {threads} threads {microseconds} us", on.without);
        let simulate = || self.simulate(program, on, threads, microseconds);
        let simulated = self.kept.or_simulate(&program.0, &[&settings], simulate)?;
        let mut sum = self.seconds.lock().expect("nobody panics with it");
        *sum = sum.zip(simulated.seconds).map(|(sum, seconds)| sum + seconds);
        drop(sum);
        Ok(simulated)
    }

    fn simulate(&self, program: &Program, on: On<'_>, threads: u32, microseconds: u64) -> Result<Simulated> {
        let name = self.built.fetch_add(1, Ordering::Relaxed);
        let recording = self.file(&format!("recording{name}"));
        let mut command = Command::new(&self.corefold);
        command.arg("run").arg("-o").arg(&recording).args(["--json", "-", "--machine", on.machine]);
        command.args(on.without.iter().flat_map(|name| ["--without", name]));
        command.args(["--placement", on.placement, "--cpus", &threads.to_string(), "--timeout", LONGEST, "--"]);
        command.arg(&program.0).arg("{cpus}").arg(microseconds.to_string());
        let begun = Instant::now();
        let output = finish(command)?;
        let seconds = Some(begun.elapsed().as_secs_f64());
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let blamed = report["finding"]["cause"].as_str().context("a report without a finding")?.to_owned();
        let _ = std::fs::remove_file(&recording);
        // What the program prints goes where the document does not.
        Ok(Simulated { nanoseconds: time(&output.stderr, "ns_per_operation")?, blamed, seconds })
    }
}

impl Bench {
    /// The cause and the text of the finding on a program, from one CPU to so many. `keeps`: may it be a kept result? Only of a
    /// program without libraries of its own.
    pub fn headline(&self, program: &Path, keeps: bool, cpus: u32, arguments: &str) -> Result<(String, String)> {
        let counts = format!("1,{cpus}");
        let arguments = arguments.replace("{half}", &(cpus / 2).to_string());
        let simulate = || {
            let (report, recording) = self.run(program, &counts, &arguments)?;
            let _ = std::fs::remove_file(&recording);
            let finding = &report["finding"];
            let part = |key: &str| finding[key].as_str().map(String::from).context("a report without a finding");
            Ok((part("cause")?, part("text")?))
        };
        if keeps { self.kept.or_simulate(program, &[&counts, &arguments], simulate) } else { simulate() }
    }

    /// The report of a program at these numbers of CPUs, and the recording.
    pub fn run(&self, program: &Path, cpus: &str, arguments: &str) -> Result<(Value, PathBuf)> {
        let recording = self.file(&format!("recording{}", self.built.fetch_add(1, Ordering::Relaxed)));
        let mut command = Command::new(&self.corefold);
        command.arg("run").arg("-o").arg(&recording).args(["--json", "-", "--machine", MACHINE, "--no-host-time"]);
        // Others run beside it: `side_by_side`.
        command
            .args(["--cpus", cpus, "--jobs", "1", "--timeout", LONGEST, "--"])
            .arg(program)
            .args(arguments.split_whitespace());
        Ok((serde_json::from_slice(&finish(command)?.stdout)?, recording))
    }

    /// Builds a copy of a workload's source.
    pub fn copy(&self, source: &str) -> Result<Copy> {
        let folder = self.file(&format!("copy{}", self.built.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let name = Path::new(source).file_name().and_then(|name| name.to_str()).context("a source without a name")?;
        std::fs::copy(self.sources.join(source), folder.join(name)).with_context(|| format!("copying {source}"))?;
        let program = folder.join("program");
        let corefold = self.corefold.to_str().context("the command's path is no text")?.replace('\'', r"'\''");
        let compiler = if name.ends_with(".cc") { "c++" } else { "cc" };
        let build = format!("'{corefold}' {compiler} {} {name} -o program", FLAGS.join(" "));
        let mut command = Command::new("sh");
        command.args(["-c", &build]).current_dir(&folder);
        finish(command).with_context(|| format!("building {source}"))?;
        Ok(Copy { folder, build, program })
    }

    /// What `corefold fix` says of a recording of the copy, and what the copy gains once it is built from the proposed source.
    pub fn fix(&self, recording: &Path, copy: &Copy) -> Result<Value> {
        let mut command = Command::new(&self.corefold);
        command.arg("fix").arg(recording).args(["--no-slots", "--json", "-", "--patch", "fix.diff", "--verify"]);
        command.arg(format!("patch -p1 < fix.diff && {}", copy.build)).current_dir(&copy.folder);
        Ok(serde_json::from_slice(&finish(command)?.stdout)?)
    }

    /// A program of the package of Rust programs, or with the feature `twin` its twin.
    pub fn build_rust(&self, package: &str, program: &str, twin: bool) -> Result<PathBuf> {
        let (target, features) = if twin { ("rust-twins", &["--features", "twin"][..]) } else { ("rust", &[][..]) };
        let folder = self.corefold.parent().context("the command is in no folder")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path)))?;
        let mut command = Command::new("cargo");
        command.args(["corefold", "build", "--release", "--locked", "-q", "--bin", program]).args(features);
        command.arg("--target-dir").arg(self.file(target)).env("PATH", path).current_dir(self.sources.join(package));
        let output = finish(command).with_context(|| format!("building {program} of {package}"))?;
        Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
    }

    /// A program of a public package, built by its own makefile; the package is unpacked and configured once.
    pub fn build_public(&self, suite: &str, prepare: Option<&str>, directory: &str, program: &str) -> Result<PathBuf> {
        let _one = self.packages.lock().expect("nobody panics with it");
        let source = self.file(suite);
        if !source.exists() {
            crate::packages::configure(&self.corefold, &self.sources, suite, prepare, &source)?;
        }
        crate::packages::make(&self.corefold, &self.sources, suite, &source.join(directory), program)
    }
}

/// The time that a workload printed after this word.
fn time(output: &[u8], word: &str) -> Result<f64> {
    let value = number(output, word)?;
    ensure!(value.is_finite() && value > 0.0, "the workload finished no operation: give it more microseconds");
    Ok(value)
}

/// What it printed after this word.
fn number(output: &[u8], word: &str) -> Result<f64> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    Ok(line.with_context(|| format!("the workload printed no {word}: {text}"))?.trim().parse()?)
}
