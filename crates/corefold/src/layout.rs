// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold layout`: structures on cache lines.
use crate::screen;
use anyhow::Result;
use clap::Args;
use corefold_driver::exit::{self, BadInput};
use corefold_dwarf::{Request, Types};
use corefold_report::layout::{Look, select, similar, structure_text};
use std::path::PathBuf;

#[derive(Args)]
pub struct LayoutArgs {
    /// An ELF file with DWARF (-g) or BTF, or a file of BTF such as /sys/kernel/btf/vmlinux.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Names of structures, or globs such as 'sock*' [default: all].
    #[arg(value_name = "STRUCT")]
    pub structures: Vec<String>,
    /// Bytes of a cache line.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = line_size)]
    pub line_size: u64,
    /// Show the members of structures inside.
    #[arg(long)]
    pub expand: bool,
    /// Read BTF also where there is DWARF.
    #[arg(long)]
    pub btf: bool,
    /// The kernel's BTF, for that of a module [default: the vmlinux beside it in /sys/kernel/btf].
    #[arg(long, value_name = "FILE")]
    pub base: Option<PathBuf>,
}

/// A power of two, so that a line begins at a multiple of its size.
fn line_size(text: &str) -> Result<u64, String> {
    let bytes: u64 = text.parse().map_err(|_| "must be a number of bytes, such as 64".to_owned())?;
    match bytes.is_power_of_two() && (8..=4096).contains(&bytes) {
        true => Ok(bytes),
        false => Err("must be a power of two from 8 to 4096".to_owned()),
    }
}

pub fn layout(args: &LayoutArgs) -> Result<u8> {
    let types = open(args, &args.file)?;
    let look = Look { line: args.line_size, expand: args.expand };
    let found = select(&types, &args.structures).map_err(|name| missing(args, &types, &name))?;
    let text: String = found.iter().map(|structure| structure_text(&types, structure, &look)).collect();
    screen::print(&text)?;
    Ok(damage(&types))
}

fn open(args: &LayoutArgs, path: &std::path::Path) -> Result<Types> {
    let request = Request { path: path.to_owned(), prefer_btf: args.btf, base: args.base.clone(), threads: 0 };
    Types::open(&request).map_err(|error| BadInput(format!("{error:#}")).into())
}

fn missing(args: &LayoutArgs, types: &Types, name: &str) -> anyhow::Error {
    let like = match similar(types, name).as_slice() {
        [] => String::new(),
        names => format!("; is it one of {}?", names.join(", ")),
    };
    let all = types.structures().len();
    BadInput(format!("no structure of {} is called {name} ({all} have names){like}", args.file.display())).into()
}

/// Damaged units, of which at most so many are named.
const MOST_DAMAGE: usize = 3;

fn damage(types: &Types) -> u8 {
    let damage = types.damage();
    for text in damage.iter().take(MOST_DAMAGE) {
        screen::note(&format!("corefold: damaged debug information, left out: {text}"));
    }
    if damage.len() > MOST_DAMAGE {
        screen::note(&format!("corefold: and {} more damaged units", damage.len() - MOST_DAMAGE));
    }
    if damage.is_empty() { exit::FINE } else { exit::BAD_INPUT }
}
