// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold case`: published results, reproduced in simulation.
use crate::json::Json;
use crate::screen;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use corefold_case::{Home, grid};
use corefold_driver::{cpus, exit};
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub enum Command {
    /// List the cases that come with corefold.
    List,
    /// Simulate a case, and print each result beside the published one.
    Run {
        /// A case's name.
        #[arg(value_name = "NAME")]
        name: String,
        /// Also write the rows as JSON; - means standard output, instead of the text.
        #[arg(long, value_name = "FILE|-")]
        json: Option<PathBuf>,
    },
    /// Compare the throughput of the kit's counters under each load, and of the adaptive one with the best other.
    Grid(GridArgs),
}

#[derive(Args)]
pub struct GridArgs {
    /// Numbers of CPUs, at most 1024.
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// How far above its limit the counter starts; -1 means no limit.
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    headrooms: Option<Vec<i64>>,
    /// Loads to simulate: add, compare, sums, reserve [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    loads: Option<Vec<String>>,
    /// Update the table in this page (docs/counters.md); rows that were not simulated are kept.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

pub fn case(command: Command) -> Result<u8> {
    let home = Home::find()?;
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    match command {
        Command::List => {
            let cases = corefold_case::list(&home)?;
            screen::print_plain(
                &cases.iter().map(|(name, title)| format!("{name:<16} {title}\n")).collect::<String>(),
            )?;
        }
        Command::Run { name, json } => {
            let to = Json::create(json.as_deref())?;
            let table = corefold_case::run(&home, &own, &name)?;
            let document = table.json()?;
            to.print(|| document, || table.text())?;
        }
        Command::Grid(args) => run_grid(&home, &own, args)?,
    }
    Ok(exit::FINE)
}

fn run_grid(home: &Home, own: &Path, args: GridArgs) -> Result<()> {
    let whole = grid::Part::default();
    let part = grid::Part {
        cpus: args.cpus.map_or(Ok(whole.cpus), |list| cpus::parse(&list))?,
        headrooms: args.headrooms.unwrap_or(whole.headrooms),
        loads: args.loads.unwrap_or(whole.loads),
    };
    let cells = grid::run(home, own, &part)?;
    if let Some(page) = &args.page {
        grid::write(page, &cells)?;
    }
    screen::print_plain(&grid::text(&cells))
}
