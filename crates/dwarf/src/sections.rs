// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections of an ELF file, as they were before compression and linking.
use anyhow::{Context, Result, ensure};
use gimli::RunTimeEndian;
use object::read::CompressionFormat;
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, ReadRef, RelocationKind, RelocationTarget};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The bytes of a section, with their byte order.
pub type Reader = gimli::EndianArcSlice<RunTimeEndian>;

/// Debug information is compressed to a third or a fifth; what claims more than this would use up memory.
const MOST_COMPRESSED: u64 = 64;

pub fn has<'data, R: ReadRef<'data>>(file: &object::File<'data, R>, name: &str) -> bool {
    file.section_by_name(name).is_some()
}

pub fn empty<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> Reader {
    Reader::new(Arc::from(&[] as &[u8]), endian(file))
}

pub fn endian<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> RunTimeEndian {
    if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
}

/// The section, or nothing where the file has none of that name.
pub fn reader<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    raw: Option<&File>,
    name: &str,
) -> Result<Reader> {
    let Some(section) = file.section_by_name(name) else {
        return Ok(empty(file));
    };
    let bytes = bytes(file, &section, raw).with_context(|| format!("section {name}"))?;
    Ok(Reader::new(bytes, endian(file)))
}

/// The bytes of the section, if the file has it.
pub fn named<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    raw: &File,
    name: &str,
) -> Result<Option<Arc<[u8]>>> {
    let section = file.section_by_name(name);
    section.map(|section| bytes(file, &section, Some(raw)).with_context(|| format!("section {name}"))).transpose()
}

/// What is in the section; read into its place at once from `raw`, where that is given and the section is as it is there.
fn bytes<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    section: &object::Section<'data, '_, R>,
    raw: Option<&File>,
) -> Result<Arc<[u8]>> {
    let range = section.compressed_file_range()?;
    let claimed = range.uncompressed_size;
    let mut bytes: Arc<[u8]> = match (range.format, raw) {
        (CompressionFormat::None, Some(raw)) => read(raw, range.offset, claimed)?,
        (CompressionFormat::None, None) => section.data()?.into(),
        _ => {
            ensure!(
                claimed / MOST_COMPRESSED <= range.compressed_size,
                "{} compressed bytes at offset {:#x} claim to be {claimed}",
                range.compressed_size,
                range.offset
            );
            Arc::from(&*section.uncompressed_data()?)
        }
    };
    if file.kind() == ObjectKind::Relocatable {
        relocate(file, section, Arc::get_mut(&mut bytes).expect("nobody else has it yet"));
    }
    Ok(bytes)
}

fn read(raw: &File, offset: u64, bytes: u64) -> Result<Arc<[u8]>> {
    let length = raw.metadata()?.len();
    ensure!(
        offset.checked_add(bytes).is_some_and(|end| end <= length),
        "its {bytes} bytes at offset {offset:#x} reach beyond the end of the file ({length} bytes)"
    );
    let mut all: Arc<[u8]> = std::iter::repeat_n(0, bytes as usize).collect();
    raw.read_exact_at(Arc::get_mut(&mut all).expect("nobody else has it yet"), offset)?;
    Ok(all)
}

/// Sections of object files and kernel modules refer to each other by relocations that a linker would resolve.
fn relocate<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    section: &object::Section<'data, '_, R>,
    bytes: &mut [u8],
) {
    let little = file.is_little_endian();
    for (offset, relocation) in section.relocations() {
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => file.symbol_by_index(index).map_or(0, |symbol| symbol.address()),
            _ => 0,
        };
        let width = usize::from(relocation.size()) / 8;
        let place = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..at.checked_add(width)?));
        let Some(place) = place.filter(|place| is_absolute(&relocation) && place.len() <= 8) else {
            continue;
        };
        let value = target.wrapping_add_signed(relocation.addend()).to_le_bytes();
        place.copy_from_slice(&value[..width]);
        if !little {
            place.reverse();
        }
    }
}

fn is_absolute(relocation: &object::Relocation) -> bool {
    relocation.kind() == RelocationKind::Absolute && !relocation.has_implicit_addend()
}
