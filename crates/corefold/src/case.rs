// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold case`: published results, simulated again.
use crate::screen;
use crate::show::Json;
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use corefold_case::{Home, grid};
use corefold_driver::{cpus, exit};
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub enum Command {
    /// List the cases that come with corefold.
    List,
    /// Simulate a case, and show each figure beside the published one.
    Run {
        /// A case's name.
        #[arg(value_name = "NAME")]
        name: String,
        /// Also write the rows as JSON; - is standard output, in place of the text.
        #[arg(long, value_name = "FILE|-")]
        json: Option<PathBuf>,
    },
    /// Every counter of the kit under every load: best, worst, and how far the adaptive one is from the best.
    Grid(GridArgs),
}

#[derive(Args)]
pub struct GridArgs {
    /// Numbers of CPUs, of up to 1024.
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// How far the value begins above its limit; -1 is no limit.
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    headrooms: Option<Vec<i64>>,
    /// Of add, compare, sums, reserve.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    loads: Option<Vec<String>>,
    /// A page with marks, between which the rows of these cells are written; others there stay.
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
