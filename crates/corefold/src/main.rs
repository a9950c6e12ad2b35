// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `corefold` command: argument parsing, and which crate does what in which order.
mod case;
mod cli;
mod explore;
mod host;
mod machine;
mod run;
mod screen;
mod show;
mod size;

use clap::Parser;
use cli::{Cli, Command};
use corefold_driver::{cc, exit};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any parsing of ours: a compiler's arguments are nobody else's business.
    if let Some((language, args)) = cli::compiler_call(std::env::args_os()) {
        return failed("corefold cc", &cc::compile(language, args));
    }
    if let Some(args) = cli::assembler_call(std::env::args_os()) {
        return match cc::assemble(args) {
            Ok(code) => ExitCode::from(code),
            Err(error) => failed("corefold cc", &error),
        };
    }
    let done = match Cli::parse().command {
        Command::Cc { .. } | Command::Cxx { .. } => unreachable!("taken above"),
        Command::Run(args) => run::run(args),
        Command::Explore(args) => explore::explore(args),
        Command::Case(command) => case::case(command),
        Command::Report(args) => show::report(&args),
        Command::Machine(machine::Command::List) => machine::list(),
        Command::Machine(machine::Command::Show { name }) => machine::show(&name),
        Command::Machine(machine::Command::Calibrate { output }) => machine::calibrate(output),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => failed("corefold", &error),
    }
}

fn failed(who: &str, error: &anyhow::Error) -> ExitCode {
    screen::note(&format!("{who}: error: {error:#}"));
    ExitCode::from(exit::of_error(error))
}
