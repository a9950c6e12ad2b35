// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code addresses without a recording: those that a program printed itself.
use crate::code::frames;
use crate::dwarf::Debug;
use crate::types::Place;
use anyhow::{Context, Result};

/// No program is so large.
const MOST_BYTES: u64 = 16 << 30;

/// The functions at each address of an ELF file (as the file has it), innermost first; empty where the debug
/// information does not cover it.
pub fn places(path: &str, addresses: &[u64]) -> Result<Vec<Vec<Place>>> {
    let bytes = corefold_files::read_regular(path, MOST_BYTES).with_context(|| format!("cannot read {path}"))?;
    let debug = Debug::load(&object::File::parse(&*bytes)?)?;
    let at = |&address: &u64| match &debug {
        Some(debug) => frames(debug, address, None).iter().map(|frame| frame.place()).collect(),
        None => Vec::new(),
    };
    Ok(addresses.iter().map(at).collect())
}
