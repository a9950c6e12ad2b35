// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a thread that waits for a lock of parking_lot has the lock's address. It waits on a word of its thread-local
//! `THREAD_DATA`, and the key that it has parked with stands beside it.
use crate::images::{MOST_BYTES, thread_local_bytes};
use corefold_dwarf::{Die, Info};
use object::{Object, ObjectSymbol, SymbolKind};
use std::path::Path;

/// Structures around `ThreadData` in what `thread_local!` makes of it.
const DEEPEST: usize = 8;

/// For each version of parking_lot in the program: the word, from the thread pointer, and the key, from the word.
pub fn parking(program: &Path) -> anyhow::Result<Vec<(i64, i64)>> {
    let bytes = corefold_files::read_without_debug(program, MOST_BYTES)?;
    let file = object::File::parse(&*bytes)?;
    let is_parked = |name: &str| name.contains("parking_lot_core") && name.contains("THREAD_DATA");
    let symbols =
        file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Tls && symbol.name().is_ok_and(is_parked));
    let offsets: Vec<u64> = symbols.map(|symbol| symbol.address()).collect();
    // Most programs have none, and need not wait for their debug information.
    if offsets.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = corefold_files::read_regular(program, MOST_BYTES)?;
    let info = Info::load(&object::File::parse(&*bytes)?)?;
    let block = thread_local_bytes(&bytes).unwrap_or(0) as i64;
    let found = info.iter().flat_map(|info| offsets.iter().filter_map(|offset| words(info, *offset)));
    Ok(found.map(|(word, key)| (word as i64 - block, key as i64 - word as i64)).collect())
}

/// Offsets of both words in the block of thread-local variables, in which the variable begins at `offset`.
fn words(info: &Info, offset: u64) -> Option<(u64, u64)> {
    let variable = info.thread_local_at(offset)?;
    let (data, begin) = thread_data(info, info.type_of(variable.die)?, 0)?;
    let member = |name: &str| {
        let members = info.members(data).into_iter();
        members.map(|(member, _)| member).find(|member| member.name.as_deref() == Some(name))
    };
    // The word is all that there is of the parker.
    let parker = member("parker").filter(|parker| parker.size == Some(4))?;
    Some((offset + begin + parker.offset, offset + begin + member("key")?.offset))
}

fn thread_data(info: &Info, kind: Die, depth: usize) -> Option<(Die, u64)> {
    if info.name(kind).as_deref() == Some("ThreadData") {
        return Some((kind, 0));
    }
    let members = if depth < DEEPEST { info.members(kind) } else { Vec::new() };
    members.into_iter().find_map(|(member, _)| {
        let (data, begin) = thread_data(info, member.kind, depth + 1)?;
        Some((data, member.offset + begin))
    })
}
