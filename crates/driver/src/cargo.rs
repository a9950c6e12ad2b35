// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo corefold`: cargo, with the hooks compiled into what it builds for the target, and its programs started in
//! simulation.
//!
//! cargo decides everything that it always decides: which targets are built, with which flags, and which program is
//! started where. What is ours comes from two sides. cargo calls rustc through [`rustc`], which adds the hooks to all
//! that is compiled with `--target`; build scripts and procedural macros are not. And cargo starts programs through a
//! runner, `corefold run` or `corefold explore`.
mod environment;
mod messages;
mod project;
mod rustc;
mod versions;
mod words;

pub use messages::Built;
pub use project::{Named, named};
pub use rustc::{called as rustc_called, compile as rustc};
pub use versions::{TESTED, is_tested};
pub use words::{Flag, Own, Words, split, value};

use crate::exit::bad_input;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name by which cargo finds its subcommand.
pub const NAME: &str = "cargo-corefold";

/// What is simulated: programs of this host's kind.
pub const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Set where cargo works for `cargo corefold`: the wrapper around rustc that the user has, or nothing.
const VARIABLE: &str = "COREFOLD_CARGO";

/// What cargo tells the build scripts of hooked packages, and only these: `--cfg corefold` is among their target's.
const HOOKED: &str = "CARGO_CFG_COREFOLD";

/// Does cargo work for `cargo corefold`?
pub fn is_at_work() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Is this process below a build script of a package that gets no hooks, as it builds a part of cargo's own work?
pub fn is_for_host() -> bool {
    is_at_work() && std::env::var_os("CARGO_CFG_TARGET_OS").is_some() && std::env::var_os(HOOKED).is_none()
}

/// Is the program a part of the build, which cargo starts as it starts the target's? Tests of procedural macros are.
pub fn is_of_build(program: &OsStr) -> bool {
    is_at_work() && !Path::new(program).components().any(|part| part.as_os_str() == TRIPLE)
}

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
    let mut cargo = Command::new(cargo());
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

/// The cargo that called us.
fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// Words as a list in TOML, whose strings are written as JSON's are.
fn list(words: &[OsString]) -> Result<String> {
    let word = |word: &OsString| match word.to_str() {
        Some(text) => Ok(serde_json::to_string(text).expect("a string")),
        None => Err(bad_input!("cargo's configuration cannot hold {}, which is not UTF-8", OsStr::display(word))),
    };
    Ok(format!("[{}]", words.iter().map(word).collect::<Result<Vec<_>>>()?.join(",")))
}
