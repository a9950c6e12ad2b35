// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `corefold` command: argument parsing, and which crate does what in which order.
mod cargo;
mod case;
mod cli;
mod explore;
mod fix;
mod host;
mod json;
mod layout;
mod limits;
mod machine;
mod parking;
mod replay;
mod run;
mod screen;
mod show;
mod size;

use clap::Parser;
use cli::{Cli, Command, ExploreArgs, RunArgs};
use corefold_driver::run::signals;
use corefold_driver::{cc, exit};
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    signals::settle();
    // Before any parsing of ours: a compiler's arguments are nobody else's business.
    if let Some((language, args)) = cli::compiler_call(std::env::args_os(), std::env::current_exe().ok()) {
        return failed("corefold cc", &cc::compile(language, args));
    }
    if let Some(args) = cli::assembler_call(std::env::args_os()) {
        return ended("corefold cc", cc::assemble(args));
    }
    if let Some(args) = corefold_driver::cargo::rustc_called(std::env::args_os()) {
        return ended("corefold", corefold_driver::cargo::rustc(&args));
    }
    if let Some(args) = corefold_driver::cargo::linker_called(std::env::args_os()) {
        return failed("corefold", &corefold_driver::cargo::link(args));
    }
    if let Some(args) = cargo::called(std::env::args_os(), std::env::current_exe().ok().as_deref()) {
        return ended("cargo corefold", cargo::cargo(args));
    }
    signals::ignore_file_limit();
    let done = match parsed().command {
        Command::Cc { .. } | Command::Cxx { .. } => unreachable!("taken above"),
        Command::Run(RunArgs { program, .. }) | Command::Explore(ExploreArgs { program, .. })
            if cargo::leaves_out(&program) =>
        {
            Ok(exit::FINE)
        }
        Command::Run(args) => run::run(args),
        Command::Explore(args) => explore::explore(args),
        Command::Fix(args) => fix::fix(args),
        Command::Case(command) => case::case(command),
        Command::Layout(args) => layout::layout(&args),
        Command::Report(args) => show::report(&args),
        Command::Machine(machine::Command::List) => machine::list(),
        Command::Machine(machine::Command::Show { name, sensitivity }) => machine::show(&name, sensitivity),
        Command::Machine(machine::Command::Calibrate { output, passes }) => machine::calibrate(output, passes),
    };
    ended("corefold", done)
}

fn ended(who: &str, done: anyhow::Result<u8>) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => failed(who, &error),
    }
}

/// The command line; if it is wrong, that is said and the command ends. clap quotes arguments as they are, so that
/// only those which a terminal just shows are left to it.
fn parsed() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        let harmless = |arg: OsString| arg.to_str().is_some_and(corefold_report::is_visible);
        if std::env::args_os().all(harmless) {
            error.exit();
        }
        screen::note(error.to_string().trim_end());
        std::process::exit(error.exit_code())
    })
}

fn failed(who: &str, error: &anyhow::Error) -> ExitCode {
    screen::note(&format!("{who}: error: {error:#}"));
    ExitCode::from(exit::of_error(error))
}
