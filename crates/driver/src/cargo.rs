// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo corefold`: cargo, with the hooks compiled into what it builds for the target, and its programs started in
//! simulation.
//!
//! cargo decides everything that it always decides: which targets are built, with which flags, and which program is
//! started where. What is ours comes from two sides. cargo calls rustc through [`rustc`], which adds the hooks to all
//! that is compiled with `--target`; build scripts and procedural macros are not. And cargo starts programs through a
//! runner, `corefold run` or `corefold explore`.
mod environment;
mod inline;
mod messages;
mod project;
mod rustc;
pub(crate) mod versions;
mod words;
pub(crate) mod work;

pub use inline::{link, linker_called};
pub use messages::Built;
pub use project::{Named, named};
pub use rustc::{called as rustc_called, compile as rustc};
pub use words::{Flag, Own, Words, split, value};
pub use work::{NAME, TRIPLE, is_at_work, is_of_build};

use crate::exit::bad_input;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What cargo is asked to do.
pub struct Request {
    /// `build`, `run`, `test` or `bench`.
    pub subcommand: &'static str,
    /// cargo's options as the user gave them.
    pub options: Vec<OsString>,
}

/// Runs `cargo build`, and checks and names the programs that it built. The number is the exit code of cargo.
pub fn build(request: &Request) -> Result<(u8, Vec<Built>)> {
    let mut cargo = prepared(request)?;
    cargo.arg("--message-format=json-render-diagnostics");
    let (status, built) = messages::read(&mut cargo)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(crate::exit::INTERNAL);
    for program in built.iter().filter(|_| code == 0) {
        crate::program::check_built(&program.path)?;
    }
    Ok((code, built))
}

/// Becomes cargo, which builds and starts programs through `corefold` with the words of `runner`.
pub fn start(request: &Request, runner: &[OsString], program: &[OsString]) -> Result<std::convert::Infallible> {
    let mut cargo = prepared(request)?;
    let mut words = vec![crate::cc::corefold()?.into_os_string()];
    words.extend_from_slice(runner);
    cargo.arg("--config").arg(format!("target.{TRIPLE}.runner={}", list(&words)?));
    cargo.arg("--").args(program);
    Err(cargo.exec()).context("cannot start cargo")
}

/// cargo, with all that is ours but the runner.
fn prepared(request: &Request) -> Result<Command> {
    versions::note()?;
    let mut cargo = Command::new(work::cargo());
    cargo.arg(request.subcommand).args(&request.options);
    match words::value(&request.options, "--target") {
        None => _ = cargo.args(["--target", TRIPLE]),
        Some(target) if target == TRIPLE => {}
        Some(target) => return Err(bad_input!("--target {}: only {TRIPLE} can be simulated", target.display())),
    }
    let target_dir = match words::value(&request.options, "--target-dir") {
        Some(_) => None,
        None => Some(project::target_directory(&request.options)?.join("corefold")),
    };
    environment::set(&mut cargo, target_dir)?;
    Ok(cargo)
}

/// Words as a list in TOML, whose strings are written as JSON's are.
fn list(words: &[OsString]) -> Result<String> {
    let word = |word: &OsString| match word.to_str() {
        Some(text) => Ok(serde_json::to_string(text).expect("a string")),
        None => Err(bad_input!("cargo's configuration cannot hold {}, which is not UTF-8", OsStr::display(word))),
    };
    Ok(format!("[{}]", words.iter().map(word).collect::<Result<Vec<_>>>()?.join(",")))
}
