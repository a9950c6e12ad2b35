// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of how a program scales.
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::{Command, Output};

/// A benchmark, example or binary of the package, by name, whose speed-up is to be tested.
///
/// ```no_run
/// corefold::scaling("bench_pool").cpus([1, 16, 80]).at_least(12.0);
/// ```
pub fn scaling(target: impl Into<OsString>) -> Scaling {
    Scaling { target: target.into(), cpus: Vec::new(), options: Vec::new(), args: Vec::new() }
}

/// A test of how a program scales; [`Scaling::at_least`] runs it.
#[must_use = "nothing runs before `at_least`"]
#[derive(Clone, Debug)]
pub struct Scaling {
    target: OsString,
    cpus: Vec<String>,
    options: Vec<OsString>,
    args: Vec<OsString>,
}

/// What `cargo corefold` begins its last message with, if the speed-up is below the bound.
const BELOW: &str = "corefold: the speed-up ";

impl Scaling {
    /// The numbers of CPUs to simulate: the speed-up is that from the first to the last. Unless given, those that
    /// `corefold run` chooses.
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = u32>) -> Scaling {
        self.cpus = cpus.into_iter().map(|count| count.to_string()).collect();
        self
    }

    /// The program's arguments; `{cpus}` stands for the number of CPUs.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Scaling {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// Further options of `cargo corefold run`, such as `["--machine", "xeon-4s-80"]` or `["--features", "fast"]`.
    pub fn options<A: Into<OsString>>(mut self, options: impl IntoIterator<Item = A>) -> Scaling {
        self.options = options.into_iter().map(Into::into).collect();
        self
    }

    /// Builds the target with optimisation, and runs it on each number of CPUs in simulation.
    ///
    /// Where corefold is not installed, the test is skipped; standard error says so, past the test harness's capture.
    ///
    /// # Panics
    /// If the speed-up at the most CPUs is below `factor`, with the report's finding; and if the target cannot be
    /// built, or a run fails.
    #[track_caller]
    pub fn at_least(self, factor: f64) {
        if let Err(why) = installed() {
            return skipped(&self.target, &why);
        }
        let done = self.command(factor).output().unwrap_or_else(|error| panic!("cannot start cargo: {error}"));
        let (out, err) = (text(&done.stdout), text(&done.stderr));
        // Through the harness: shown if the test fails, or with --nocapture.
        print!("{out}");
        eprint!("{err}");
        if !done.status.success() {
            panic!("{}", failure(&self.target, &done, &err));
        }
    }

    fn command(&self, factor: f64) -> Command {
        let mut cargo = cargo();
        cargo.arg("scaling").arg(&self.target).arg("--at-least").arg(factor.to_string());
        if !self.cpus.is_empty() {
            cargo.arg("--cpus").arg(self.cpus.join(","));
        }
        cargo.args(&self.options).arg("--").args(&self.args);
        cargo
    }
}

/// `cargo corefold` in the package's directory: cargo names that to the tests that it starts.
fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR") {
        cargo.current_dir(package);
    }
    cargo.arg("corefold");
    cargo
}

/// Why the lab cannot be used, if it cannot.
fn installed() -> Result<(), String> {
    if cfg!(corefold) {
        return Err("this test itself runs in simulation".into());
    }
    let answer = cargo().arg("--version").output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if answer.status.success() {
        return Ok(());
    }
    let said = text(&answer.stderr);
    Err(format!("corefold is not installed ({})", said.lines().next().unwrap_or("cargo corefold fails").trim()))
}

fn skipped(target: &OsStr, why: &str) {
    // Not `eprintln!`, which the harness keeps back if the test passes. A closed standard error is no failure.
    let line = format!("SKIPPED: the scaling test of {}: {why}\n", target.to_string_lossy());
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The finding, if the runs were well; else what cargo or corefold said last.
fn failure(target: &OsStr, done: &Output, err: &str) -> String {
    let target = target.to_string_lossy();
    match err.rfind(BELOW) {
        Some(at) => {
            let said = &err[at + "corefold: ".len()..];
            // `cargo bench` says how to repeat a failed one.
            let said = said.find("\nerror: ").map_or(said, |end| &said[..end]);
            format!("{target}: {}", said.trim_end())
        }
        None => {
            let last: Vec<&str> = err.trim_end().lines().rev().take(4).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            format!("{target} was not simulated to its end ({}):\n{}", done.status, last.join("\n"))
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
