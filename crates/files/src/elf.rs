// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the debug information of an ELF file is.
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

const HEADER: usize = 64;
const SECTION: usize = 64;
/// `ELF`, 64 bits, the lowest byte first.
const MAGIC: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const NOBITS: u32 = 8;
const ALLOCATED: u64 = 2;
/// No file's names of sections are so long.
const MOST_NAMES: u64 = 1 << 20;

/// The file's sections of debug information, in order; `None` where it has none, or is not read so.
pub fn debug_sections(file: &File) -> Option<Vec<Range<u64>>> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    if header[..MAGIC.len()] != MAGIC || number(&header, 0x3a, 2) != SECTION as u64 {
        return None;
    }
    let (count, names) = (number(&header, 0x3c, 2) as usize, number(&header, 0x3e, 2) as usize);
    let mut table = vec![0; count * SECTION];
    file.read_exact_at(&mut table, number(&header, 0x28, 8)).ok()?;
    let sections: Vec<&[u8]> = table.chunks_exact(SECTION).collect();
    let names = range(sections.get(names)?)?;
    let mut text = vec![0; (names.end - names.start).min(MOST_NAMES) as usize];
    file.read_exact_at(&mut text, names.start).ok()?;
    let is_debug = |section: &&&[u8]| {
        let name = text.get(number(section, 0, 4) as usize..).unwrap_or_default();
        let is_in_memory = number(section, 8, 8) & ALLOCATED != 0;
        name.starts_with(b".debug_") && !is_in_memory && number(section, 4, 4) as u32 != NOBITS
    };
    let mut found: Vec<_> = sections.iter().filter(is_debug).filter_map(|section| range(section)).collect();
    found.sort_by_key(|range| range.start);
    // What is cut off is told by those who read it.
    let length = file.metadata().ok()?.len();
    (!found.is_empty() && found.iter().all(|range| range.end <= length)).then_some(found)
}

fn range(section: &[u8]) -> Option<Range<u64>> {
    let (begin, bytes) = (number(section, 24, 8), number(section, 32, 8));
    Some(begin..begin.checked_add(bytes)?)
}

fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
