// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published results, simulated again.
//!
//! A case is a folder: a program, and a `case.toml` that says which machine and runs it needs and which figures of
//! them were published. [`run`] compiles the program with the kit, simulates the runs through the `corefold` command
//! itself, and holds each figure beside the published one. [`grid`] does the same for every counter of the kit under
//! every load.
mod figures;
mod fixes;
pub mod grid;
mod home;
mod interval;
mod liburcu;
mod locks;
mod native;
mod program;
mod results;
mod rows;
mod simulate;
mod spec;

pub use home::Home;
pub use rows::{Row, Table};

use anyhow::Result;
use corefold_driver::scratch::Scratch;
use native::{Native, build_name};
use program::Sources;
use simulate::{Request, Simulated, in_parallel, simulate_all};
use spec::Case;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Every case's name and title.
pub fn list(home: &Home) -> Result<Vec<(String, String)>> {
    home.cases()?.into_iter().map(|name| Ok((name.clone(), spec::load(&home.case(&name)?)?.title))).collect()
}

/// Runs a case; `corefold` is the command that compiles and simulates.
pub fn run(home: &Home, corefold: &Path, name: &str) -> Result<Table> {
    let folder = home.case(name)?;
    let case = spec::load(&folder)?;
    let place = Scratch::removed_when_ended()?;
    let source = folder.join(&case.program);
    let sources = Sources::instrumented(home, corefold, &source, case.library, place.path())?;
    let programs = builds(&case, &sources, place.path())?;
    let simulated = simulated(&case, corefold, &programs, place.path())?;
    let natively = Native::new(&case, place.path(), || Sources::native(home, &source, case.library, place.path()));
    let fixes = fixes::all(&case, corefold, place.path())?;
    rows::table(name, &case, &simulated, &fixes, &natively)
}

/// The programs of all builds that runs need, by name.
fn builds(case: &Case, sources: &Sources, place: &Path) -> Result<HashMap<String, PathBuf>> {
    let names: Vec<_> = case.runs.values().map(build_name).collect::<BTreeSet<_>>().into_iter().collect();
    let flags = |name: &str| case.builds.get(name).map_or(&[][..], |build| &build.flags);
    let bar = simulate::hidden(names.len());
    let programs = in_parallel(&names, &bar, |name| sources.compile(name, flags(name), place))?;
    Ok(names.into_iter().map(str::to_owned).zip(programs).collect())
}

/// What came of each run, in the order of its seeds.
fn simulated(
    case: &Case,
    corefold: &Path,
    programs: &HashMap<String, PathBuf>,
    place: &Path,
) -> Result<HashMap<String, Vec<Simulated>>> {
    let mut requests: Vec<(&Path, Request)> = Vec::new();
    for (name, run) in &case.runs {
        let program = &programs[build_name(run)];
        let recording = fixes::recording(case, place, name);
        let with = |request| (program.as_path(), Request { recording: recording.clone(), ..request });
        requests.extend(Request::of(case, name, run).into_iter().map(with));
    }
    let done = simulate_all(corefold, place, &requests)?;
    let mut by_name: HashMap<String, Vec<Simulated>> = HashMap::new();
    for ((_, request), run) in requests.into_iter().zip(done) {
        by_name.entry(request.name).or_default().push(run);
    }
    Ok(by_name)
}
