// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every kind of counter under every load: is the adaptive one ever the wrong one, and is every other?
//!
//! A cell is a number of CPUs, a distance from the limit, and a kind of operations; each kind of counter runs in it
//! (`kit/bench/cell.c`), and its throughput is held against the best.
mod cell;
mod doc;

use crate::Home;
use crate::program::Sources;
use crate::simulate::{Request, bar, in_parallel, simulate};
use crate::spec::Library;
use anyhow::{Result, bail};
use cell::{ADAPTIVE, CUT_OFF};
pub use cell::{Cell, KINDS, LOADS};
use corefold_driver::BadInput;
use corefold_driver::scratch::Scratch;
use std::path::Path;

pub const CPUS: [u32; 7] = [1, 2, 8, 16, 40, 80, 256];
/// Below 0: no limit.
pub const HEADROOMS: [i64; 4] = [0, 2_000, 100_000, -1];

/// Virtual seconds that the beginning may take, before any operation: for each thread, which has to be created.
const START: f64 = 5e-5;
/// Operations of each thread, on so many CPUs at most: few enough for many CPUs.
const OPERATIONS: &[(u32, u32)] = &[(8, 1_000), (u32::MAX, 500)];
/// Cycles between operations.
const WORK: u32 = 50;

/// Which part of the grid, and where results go.
pub struct Part {
    pub cpus: Vec<u32>,
    pub headrooms: Vec<i64>,
    pub loads: Vec<String>,
}

impl Default for Part {
    fn default() -> Part {
        Part { cpus: CPUS.into(), headrooms: HEADROOMS.into(), loads: LOADS.map(str::to_owned).into() }
    }
}

pub fn run(home: &Home, corefold: &Path, part: &Part) -> Result<Vec<Cell>> {
    let cells = cells(part)?;
    let place = Scratch::removed_when_ended()?;
    let cell = home.kit().join("bench/cell.c");
    let program = Sources::instrumented(home, corefold, &cell, Library::Kit, place.path())?;
    let program = program.compile("", &[], place.path())?;
    // The longest first, so that the last ones end together.
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(cells[at].0));
    let bar = bar(cells.len());
    let rates = in_parallel(&order, &bar, |&at| rates(corefold, &program, place.path(), &cells[at]))?;
    let mut done: Vec<_> = order.into_iter().zip(rates).collect();
    done.sort_by_key(|(at, _)| *at);
    let cell = |((cpus, headroom, load), rates): (Place, _)| Cell { cpus, headroom, load, rates };
    Ok(cells.into_iter().zip(done.into_iter().map(|(_, rates)| rates)).map(cell).collect())
}

type Place = (u32, i64, String);

fn cells(part: &Part) -> Result<Vec<Place>> {
    if let Some(unknown) = part.loads.iter().find(|load| !LOADS.contains(&load.as_str())) {
        let message = format!("unknown load {unknown:?}; the loads are: {}", LOADS.join(", "));
        return Err(anyhow::Error::new(BadInput(message)));
    }
    let of = |cpus: u32, headroom: i64| part.loads.iter().map(move |load| (cpus, headroom, load.clone()));
    let rows = |cpus: u32| part.headrooms.iter().flat_map(move |&headroom| of(cpus, headroom));
    Ok(part.cpus.iter().flat_map(|&cpus| rows(cpus)).collect())
}

/// The adaptive kind first: it says how long the others may take.
fn rates(corefold: &Path, program: &Path, place: &Path, cell: &Place) -> Result<[Option<f64>; KINDS.len()]> {
    let mut rates = [None; KINDS.len()];
    let adaptive = simulate(corefold, program, place, &request(cell, KINDS[ADAPTIVE], None))?;
    if !adaptive.finished || adaptive.throughput.is_none() {
        bail!("the adaptive counter at {cell:?} {}", adaptive.ending.summary);
    }
    rates[ADAPTIVE] = adaptive.throughput;
    for (kind, rate) in rates[..ADAPTIVE].iter_mut().enumerate() {
        let longest = adaptive.seconds * CUT_OFF * all_over_counted(cell.0) + START * f64::from(cell.0 + 20);
        let run = simulate(corefold, program, place, &request(cell, KINDS[kind], Some(longest)))?;
        if !run.finished && !run.ending.summary.contains("--longest") {
            bail!("{} at {cell:?} {}", KINDS[kind], run.ending.summary);
        }
        *rate = run.throughput.filter(|_| run.finished);
    }
    Ok(rates)
}

fn operations(cpus: u32) -> u32 {
    OPERATIONS.iter().find(|(most, _)| cpus <= *most).map_or(0, |(_, operations)| *operations)
}

/// Of each thread, before those that count: the adaptive counter has not adapted yet, and on few CPUs meets the others
/// seldom.
fn warm_up(cpus: u32) -> u32 {
    200 + 2000 / cpus
}

/// All operations over those that count.
fn all_over_counted(cpus: u32) -> f64 {
    1.0 + f64::from(warm_up(cpus)) / f64::from(operations(cpus))
}

fn request((cpus, headroom, load): &Place, kind: &str, longest: Option<f64>) -> Request {
    let machine = if *cpus <= 80 { "xeon-4s-80" } else { "generic-1024" };
    let numbers = [*headroom, operations(*cpus).into(), WORK.into(), warm_up(*cpus).into()];
    let args = [kind.to_owned(), load.clone()].into_iter().chain(numbers.map(|n| n.to_string()));
    let name = format!("{kind}, {load}, headroom {headroom}, {cpus} CPUs");
    Request { name, machine: machine.into(), cpus: *cpus, args: args.collect(), longest, recording: None }
}

/// The table, and each kind's worst cell.
pub fn text(cells: &[Cell]) -> String {
    doc::table(cells) + "\n" + &doc::worst(cells)
}

pub use doc::write;
