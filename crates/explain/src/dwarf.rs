// SPDX-License-Identifier: MIT OR Apache-2.0
//! The debug information of one ELF file, read as it is asked for.
mod code;
mod frame;
pub mod index;
mod library;
mod member;
pub mod path;
mod registers;
pub mod scope;
pub mod shape;

pub use frame::FrameVariable;

use anyhow::Context as _;
use code::Code;
use gimli::{AttributeValue, DwAt, DwTag, RunTimeEndian, UnitOffset};
use object::{Object, ObjectSection};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

pub type Reader = gimli::EndianArcSlice<RunTimeEndian>;
type Entry<'a> = gimli::DebuggingInformationEntry<'a, 'a, Reader>;

/// A debugging information entry: its unit's number in [`Debug`], and its offset there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Die {
    unit: u32,
    offset: usize,
}

/// The debug information of one file.
pub struct Debug {
    dwarf: Arc<gimli::Dwarf<Reader>>,
    lines: addr2line::Context<Reader>,
    units: Vec<gimli::Unit<Reader>>,
    /// First unit of `.debug_types`; those before it are in `.debug_info`, by offset.
    first_type_unit: usize,
    /// What a type unit defines, by signature.
    signatures: HashMap<u64, Die>,
    index: OnceCell<index::Index>,
    code: Code,
}

impl Debug {
    /// `None` where the file has no debug information.
    pub fn load(file: &object::File<'_>) -> anyhow::Result<Option<Debug>> {
        if file.section_by_name(".debug_info").is_none() {
            return Ok(None);
        }
        let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let load = |id: gimli::SectionId| -> anyhow::Result<Reader> {
            let data = match file.section_by_name(id.name()) {
                Some(section) => section.uncompressed_data().with_context(|| format!("section {}", id.name()))?,
                None => Default::default(),
            };
            Ok(Reader::new(Arc::from(&*data), endian))
        };
        let mut dwarf = gimli::Dwarf::load(load)?;
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        Debug::new(Arc::new(dwarf), Code::read(file)).map(Some)
    }

    fn new(dwarf: Arc<gimli::Dwarf<Reader>>, code: Code) -> anyhow::Result<Debug> {
        let lines = addr2line::Context::from_arc_dwarf(dwarf.clone())?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        let first_type_unit = units.len();
        let mut headers = dwarf.type_units();
        while let Some(header) = headers.next()? {
            units.push(dwarf.unit(header)?);
        }
        let signatures = units.iter().enumerate().filter_map(|(number, unit)| signature(number, unit)).collect();
        Ok(Debug { dwarf, lines, units, first_type_unit, signatures, index: OnceCell::new(), code })
    }

    /// Names of types and addresses of variables, collected in one pass when first asked for.
    pub fn index(&self) -> &index::Index {
        self.index.get_or_init(|| index::Index::build(self))
    }

    pub fn lines(&self) -> &addr2line::Context<Reader> {
        &self.lines
    }

    /// The file's machine code; empty where debug information is in a file of its own.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Whether units have their debug information in files of their own, which are not read.
    pub fn is_split(&self) -> bool {
        self.units.iter().any(|unit| matches!(unit.dwo_name(), Ok(Some(_))))
    }

    /// The entry at `offset` of the unit whose header is at `unit`.
    pub fn die(&self, unit: gimli::UnitSectionOffset, offset: UnitOffset) -> Option<Die> {
        let number = match unit {
            gimli::UnitSectionOffset::DebugInfoOffset(at) => self.unit_at(at.0)?,
            gimli::UnitSectionOffset::DebugTypesOffset(_) => return None,
        };
        Some(Die { unit: number as u32, offset: offset.0 })
    }

    /// The number of the unit that holds the byte at `offset` of `.debug_info`.
    fn unit_at(&self, offset: usize) -> Option<usize> {
        let units = &self.units[..self.first_type_unit];
        let next = units.partition_point(|unit| unit_start(unit) <= offset);
        next.checked_sub(1)
    }

    fn unit(&self, die: Die) -> &gimli::Unit<Reader> {
        &self.units[die.unit as usize]
    }

    fn entry(&self, die: Die) -> Option<Entry<'_>> {
        self.unit(die).entry(UnitOffset(die.offset)).ok()
    }

    pub fn tag(&self, die: Die) -> Option<DwTag> {
        Some(self.entry(die)?.tag())
    }

    fn value(&self, die: Die, at: DwAt) -> Option<AttributeValue<Reader>> {
        self.entry(die)?.attr_value(at).ok()?
    }

    pub fn number(&self, die: Die, at: DwAt) -> Option<u64> {
        match self.value(die, at)? {
            AttributeValue::FileIndex(number) => Some(number),
            AttributeValue::Virtuality(virtuality) => Some(u64::from(virtuality.0)),
            value => value.udata_value(),
        }
    }

    pub fn flag(&self, die: Die, at: DwAt) -> bool {
        matches!(self.value(die, at), Some(AttributeValue::Flag(true)))
    }

    pub fn text(&self, die: Die, at: DwAt) -> Option<String> {
        let value = self.value(die, at)?;
        self.string(die.unit as usize, value)
    }

    fn string(&self, unit: usize, value: AttributeValue<Reader>) -> Option<String> {
        let text = self.dwarf.attr_string(&self.units[unit], value).ok()?;
        Some(gimli::Reader::to_string_lossy(&text).ok()?.into_owned())
    }

    /// The entry that attribute `at` of `die` refers to.
    pub fn link(&self, die: Die, at: DwAt) -> Option<Die> {
        self.target(die.unit as usize, self.value(die, at)?)
    }

    fn target(&self, unit: usize, value: AttributeValue<Reader>) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit: unit as u32, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => {
                let unit = self.unit_at(offset.0)?;
                Some(Die { unit: unit as u32, offset: offset.0 - unit_start(&self.units[unit]) })
            }
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// Its own attribute, or that of what it is an instance or the definition of.
    pub fn inherited<T>(&self, die: Die, get: impl Fn(Die) -> Option<T>) -> Option<T> {
        let mut die = die;
        // An instance of a definition of a declaration: no chain is longer than that.
        for _ in 0..4 {
            if let Some(found) = get(die) {
                return Some(found);
            }
            die =
                self.link(die, gimli::DW_AT_abstract_origin).or_else(|| self.link(die, gimli::DW_AT_specification))?;
        }
        None
    }

    pub fn name(&self, die: Die) -> Option<String> {
        self.inherited(die, |die| self.text(die, gimli::DW_AT_name))
    }

    /// The type of a variable or member, the return type of a function, the target of a pointer.
    pub fn type_of(&self, die: Die) -> Option<Die> {
        self.inherited(die, |die| self.link(die, gimli::DW_AT_type))
    }

    /// Where it is declared.
    pub fn declared(&self, die: Die) -> Option<(String, u32)> {
        let line = self.inherited(die, |die| self.number(die, gimli::DW_AT_decl_line))?;
        let file =
            self.inherited(die, |die| self.file(die.unit as usize, self.number(die, gimli::DW_AT_decl_file)?))?;
        Some((file, line as u32))
    }

    fn file(&self, unit: usize, number: u64) -> Option<String> {
        let header = self.units[unit].line_program.as_ref()?.header();
        let file = header.file(number)?;
        let name = self.string(unit, file.path_name())?;
        if name.starts_with('/') {
            return Some(name);
        }
        let directory = self.string(unit, file.directory(header)?)?;
        let root = self.units[unit]
            .comp_dir
            .as_ref()
            .and_then(|dir| Some(gimli::Reader::to_string_lossy(dir).ok()?.into_owned()));
        Some(match root {
            Some(root) if !directory.starts_with('/') => format!("{root}/{directory}/{name}"),
            _ => format!("{directory}/{name}"),
        })
    }

    pub fn children(&self, die: Die) -> Vec<(DwTag, Die)> {
        self.try_children(die).unwrap_or_default()
    }

    fn try_children(&self, die: Die) -> gimli::Result<Vec<(DwTag, Die)>> {
        let mut tree = self.unit(die).entries_tree(Some(UnitOffset(die.offset)))?;
        let mut children = tree.root()?.children();
        let mut found = Vec::new();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            found.push((entry.tag(), Die { unit: die.unit, offset: entry.offset().0 }));
        }
        Ok(found)
    }

    /// Whether types are called `struct foo`, as in C, rather than `foo`.
    pub fn has_tags(&self, die: Die) -> bool {
        use gimli::constants as c;
        let tagged = [c::DW_LANG_C, c::DW_LANG_C89, c::DW_LANG_C99, c::DW_LANG_C11, c::DW_LANG_C17];
        self.language(die).is_some_and(|language| tagged.contains(&language))
    }

    pub fn is_rust(&self, die: Die) -> bool {
        self.language(die) == Some(gimli::DW_LANG_Rust)
    }

    fn language(&self, die: Die) -> Option<gimli::DwLang> {
        let mut tree = self.unit(die).entries_tree(None).ok()?;
        match tree.root().ok()?.entry().attr_value(gimli::DW_AT_language).ok()?? {
            AttributeValue::Language(language) => Some(language),
            _ => None,
        }
    }
}

fn unit_start(unit: &gimli::Unit<Reader>) -> usize {
    match unit.header.offset() {
        gimli::UnitSectionOffset::DebugInfoOffset(offset) => offset.0,
        gimli::UnitSectionOffset::DebugTypesOffset(offset) => offset.0,
    }
}

fn signature(number: usize, unit: &gimli::Unit<Reader>) -> Option<(u64, Die)> {
    match unit.header.type_() {
        gimli::UnitType::Type { type_signature, type_offset } => {
            Some((type_signature.0, Die { unit: number as u32, offset: type_offset.0 }))
        }
        _ => None,
    }
}
