// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the debug information of an ELF file is.
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, ReadCache, elf};
use std::fs::File;
use std::ops::Range;

/// The file's sections of debug information, in order; `None` where it has none, or is not read so. Moves the file's position.
pub fn debug_sections(file: &File) -> Option<Vec<Range<u64>>> {
    let file_length = file.metadata().ok()?.len();
    let cache = ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, &cache).ok()?;
    let found = sections.iter().filter_map(|section| {
        let name = sections.section_name(endian, section).ok()?;
        let is_in_memory = section.sh_flags(endian) & u64::from(elf::SHF_ALLOC) != 0;
        let (begin, bytes) = section.file_range(endian)?;
        (name.starts_with(b".debug_") && !is_in_memory).then_some((begin, begin.checked_add(bytes)?))
    });
    let mut found: Vec<Range<u64>> = found.map(|(begin, end)| begin..end).collect();
    found.sort_by_key(|range| range.start);
    // What is cut off is told by those who read it.
    (!found.is_empty() && found.iter().all(|range| range.end <= file_length)).then_some(found)
}
