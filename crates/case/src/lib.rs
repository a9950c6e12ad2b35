// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published results, simulated again.
//!
//! A case is a folder: a program, and a `case.toml` that says which machine and runs it needs and which figures of
//! them were published. [`run`] compiles the program with the kit, simulates the runs through the `corefold` command
//! itself, and holds each figure beside the published one. [`grid`] does the same for every counter of the kit under
//! every load.
pub mod grid;
mod home;
mod native;
mod program;
mod rows;
mod simulate;
mod spec;

pub use home::Home;
pub use rows::{Row, Table};

use anyhow::Result;
use corefold_driver::scratch::Scratch;
use simulate::{Request, simulate_all};
use std::collections::HashMap;
use std::path::Path;

/// Every case's name and title.
pub fn list(home: &Home) -> Result<Vec<(String, String)>> {
    home.cases()?.into_iter().map(|name| Ok((name.clone(), spec::load(&home.case(&name)?)?.title))).collect()
}

/// Runs a case; `corefold` is the command that compiles and simulates.
pub fn run(home: &Home, corefold: &Path, name: &str) -> Result<Table> {
    let folder = home.case(name)?;
    let spec = spec::load(&folder)?;
    let place = Scratch::new()?;
    let source = folder.join(&spec.program);
    let program = program::instrumented(home, corefold, &source, place.path())?;
    let requests: Vec<Request> = spec.runs.iter().map(|(name, run)| Request::of(&spec, name, run)).collect();
    let simulated = simulate_all(corefold, &program, place.path(), &requests)?;
    let simulated: HashMap<_, _> = requests.into_iter().map(|r| r.name).zip(simulated).collect();
    let natively = native::Native::new(program::native(home, &source, place.path())?);
    rows::table(name, &spec, &simulated, &natively)
}
