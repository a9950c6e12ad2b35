// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo corefold`.
use crate::cli::{Cli, Command};
use crate::{run, screen};
use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use corefold_driver::cargo::{self, Flag, Own, Request};
use corefold_driver::exit;
use std::ffi::{OsStr, OsString};
use std::path::Path;

const HELP: &str = "\
Builds Rust programs with cargo for simulation, and simulates them.

Usage: cargo corefold build [CARGO'S OPTIONS]
       cargo corefold run|test|bench [CARGO'S OPTIONS] [OPTIONS OF `corefold run`] [-- PROGRAM'S ARGUMENTS]
       cargo corefold scaling NAME [CARGO'S OPTIONS] [OPTIONS OF `corefold run`] [-- PROGRAM'S ARGUMENTS]
       cargo corefold explore [CARGO'S OPTIONS] [OPTIONS OF `corefold explore`] [-- PROGRAM'S ARGUMENTS]

Commands:
  build    Build, check that the programs can be simulated, and print their paths
  run      Simulate a binary or example at several numbers of CPUs, and print a report
  test     The same with tests; documentation tests are left out
  bench    The same with benchmarks
  scaling  The same with a benchmark, example or binary of that name, built with optimisation; see --at-least
  explore  Run a binary, example, test or benchmark under many schedules, until one fails

cargo's options are those of `cargo run`, `cargo test` and `cargo bench`. `explore` passes them to `cargo test` if --lib, --test
or --tests is among them, to `cargo bench` if --bench or --benches is, and to `cargo run` otherwise. In the program's arguments
{cpus} stands for the number of CPUs. -j, --jobs limits the build, and also the runs that are simulated in parallel.

Examples:
  cargo corefold run --release -- --threads {cpus}              the scaling curve of a binary, and what limits it
  cargo corefold run --release --cpus 1,8,80 --example pool -- {cpus}
  cargo corefold bench --bench queue --json curve.json          a benchmark
  cargo corefold test --release --test pool --cpus 1,4 -- steal one test by name
  cargo corefold explore --test pool --seeds 1-10000 -- steal   schedules of that test, until one fails
  cargo corefold build --release -p server                      build only; then `corefold run -- PATH`

Programs are built in target/corefold, with the flags of RUSTFLAGS and of cargo's configuration. Exit codes are those of
`corefold run --help`, and cargo's 101 if the build fails.";

/// The arguments behind `corefold`, if cargo calls its subcommand.
pub fn called(args: impl IntoIterator<Item = OsString>, own: Option<&Path>) -> Option<Vec<OsString>> {
    let mut args = args.into_iter().peekable();
    let first = args.next()?;
    let names = [Path::new(&first), own.unwrap_or(Path::new(""))].map(Path::file_name);
    if !names.into_iter().flatten().any(|name| name == cargo::NAME) {
        return None;
    }
    args.next_if(|word| word == "corefold");
    Some(args.collect())
}

/// Programs of the build itself are not simulated, and that is said.
pub fn leaves_out(program: &[OsString]) -> bool {
    let found = program.first().filter(|program| cargo::is_of_build(program));
    if let Some(program) = found {
        screen::note(&format!("corefold: left out: {}, which runs in the compiler", program.display()));
    }
    found.is_some()
}

pub fn cargo(mut args: Vec<OsString>) -> Result<u8> {
    if args.is_empty() || args.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        screen::print(&format!("{HELP}\n"))?;
        return Ok(if args.is_empty() { exit::BAD_INPUT } else { exit::FINE });
    }
    let command = args.remove(0);
    match command.to_str() {
        Some("build") => build(args),
        Some("run") => simulate("run", "run", args),
        Some("test") => simulate("test", "run", args),
        Some("bench") => simulate("bench", "run", args),
        Some("scaling") => scaling(args),
        Some("explore") => simulate(explored(&args), "explore", args),
        Some("--version" | "-V") => {
            screen::print(&format!("corefold {}\n", env!("CARGO_PKG_VERSION"))).map(|()| exit::FINE)
        }
        _ => {
            screen::note(&format!("cargo corefold: error: no such command: {}\n\n{HELP}", command.display()));
            Ok(exit::BAD_INPUT)
        }
    }
}

/// The subcommand of cargo that starts what the options select.
fn explored(args: &[OsString]) -> &'static str {
    let named = |names: &[&str]| args.iter().take_while(|word| *word != "--").any(|word| is_one_of(word, names));
    match () {
        () if named(&["--bench", "--benches"]) => "bench",
        () if named(&["--lib", "--test", "--tests"]) => "test",
        () => "run",
    }
}

/// Is the word one of these options, with or without a value attached?
fn is_one_of(word: &OsStr, names: &[&str]) -> bool {
    word.to_str().is_some_and(|word| names.contains(&word.split('=').next().unwrap_or(word)))
}

fn build(args: Vec<OsString>) -> Result<u8> {
    let (code, built) = cargo::build(&Request { subcommand: "build", options: args })?;
    if code == 0 {
        for program in &built {
            screen::print_plain(&format!("{}\n", program.path.display()))?;
        }
    }
    Ok(code)
}

/// The curve of one target by its name alone, of whatever kind it is: what the crate's `scaling` calls.
fn scaling(args: Vec<OsString>) -> Result<u8> {
    let cargo::Words { mut own, cargo: mut options, program } = cargo::split(args, &flags("run"));
    if options.first().is_none_or(|name| name.as_encoded_bytes().starts_with(b"-")) {
        screen::note("cargo corefold: error: scaling: the name of a benchmark, example or binary comes first");
        return Ok(exit::BAD_INPUT);
    }
    let name = options.remove(0);
    let named = cargo::named(&name, &options)?;
    if !own.iter().any(|own| own.name == "output") {
        own.push(Own { name: "output".into(), value: Some(named.recording.into()) });
    }
    let chosen = |word: &OsString| is_one_of(word, &["--release", "-r", "--profile"]);
    if named.subcommand == "run" && !options.iter().any(chosen) {
        options.push("--release".into());
    }
    options.extend([named.option.into(), name]);
    start(named.subcommand, "run", cargo::Words { own, cargo: options, program })
}

/// `cargo SUBCOMMAND`, whose programs are started by `corefold RUNNER`.
fn simulate(subcommand: &'static str, runner: &str, args: Vec<OsString>) -> Result<u8> {
    start(subcommand, runner, cargo::split(args, &flags(runner)))
}

fn start(subcommand: &'static str, runner: &str, words: cargo::Words) -> Result<u8> {
    let mut options = words.cargo;
    let own = placed(subcommand, runner, words.own, &options)?;
    check(runner, &own)?;
    if subcommand == "test" && !options.iter().any(|word| is_one_of(word, SELECTIONS)) {
        // What cargo selects by itself, but for documentation tests: these are no programs of cargo's.
        options.push("--tests".into());
    }
    let mut call = vec![OsString::from(runner)];
    call.extend(own);
    call.push("--".into());
    match cargo::start(&Request { subcommand, options }, &call, &words.program)? {}
}

const SELECTIONS: &[&str] = &[
    "--lib",
    "--bin",
    "--bins",
    "--example",
    "--examples",
    "--test",
    "--tests",
    "--bench",
    "--benches",
    "--all-targets",
    "--doc",
];

/// The options of `corefold RUNNER`, but for those that cargo has too.
fn flags(runner: &str) -> Vec<Flag> {
    let command = Cli::command();
    let command = command.find_subcommand(runner).expect("it is a command");
    let named = command.get_arguments().filter_map(|arg| Some((arg, arg.get_long()?)));
    let ours = named.filter(|(_, long)| !["jobs", "help"].contains(long));
    ours.map(|(arg, long)| Flag {
        long: long.into(),
        short: arg.get_short(),
        takes_value: arg.get_action().takes_values(),
    })
    .collect()
}

/// The options as words, with files named from the root: cargo starts tests and benchmarks in their package's directory.
fn placed(subcommand: &str, runner: &str, own: Vec<Own>, options: &[OsString]) -> Result<Vec<OsString>> {
    let absolute =
        |path: &OsStr| std::path::absolute(path).with_context(|| format!("no such path: {}", path.display()));
    let names_output = own.iter().any(|own| own.name == "output");
    let mut words = Vec::new();
    for Own { name, value } in own {
        let is_file = |value: &OsStr| match name.as_str() {
            "output" => true,
            "json" => value != "-",
            "machine" => Path::new(value).is_file(),
            _ => false,
        };
        words.push(OsString::from(format!("--{name}")));
        match value {
            Some(value) if is_file(&value) => words.push(absolute(&value)?.into()),
            value => words.extend(value),
        }
    }
    if subcommand != "run" && runner == "run" && !names_output {
        words.extend(["--output".into(), absolute("corefold.rec".as_ref())?.into()]);
    }
    let jobs = ["--jobs", "-j"].iter().find_map(|name| cargo::value(options, name));
    if let Some(jobs) = jobs.filter(|jobs| jobs.to_str().is_some_and(|n| n.parse::<usize>().is_ok_and(|n| n > 0))) {
        words.extend(["--jobs".into(), jobs]);
    }
    Ok(words)
}

/// Refuses wrong options before anything is built.
fn check(runner: &str, own: &[OsString]) -> Result<()> {
    let mut line: Vec<OsString> = vec!["corefold".into(), runner.into()];
    line.extend_from_slice(own);
    line.extend(["--", "PROGRAM"].map(OsString::from));
    match Cli::try_parse_from(line).unwrap_or_else(|error| error.exit()).command {
        Command::Run(args) => run::check(&args),
        Command::Explore(args) => crate::explore::check(&args),
        _ => unreachable!("named by the caller"),
    }
}
