// SPDX-License-Identifier: MIT OR Apache-2.0
//! The debug information entries of one ELF file, read as they are asked for.
use crate::sections::{self, Reader};
use gimli::{AttributeValue, DwAt, DwTag, RunTimeEndian, UnitOffset};
use object::ReadRef;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

pub type Unit = gimli::Unit<Reader>;
pub type Entry<'a> = gimli::DebuggingInformationEntry<'a, 'a, Reader>;

/// A debugging information entry: its unit's number in [`Units`], and its offset there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Die {
    pub unit: u32,
    pub offset: usize,
}

/// The units of one file.
pub struct Units {
    dwarf: Arc<gimli::Dwarf<Reader>>,
    /// Parsed when first used.
    units: Vec<(gimli::UnitHeader<Reader>, OnceLock<gimli::Result<Unit>>)>,
    /// First unit of `.debug_types`; those before it are in `.debug_info`, by offset.
    first_type_unit: usize,
    /// What a type unit defines, by signature.
    signatures: HashMap<u64, Die>,
    /// Whether line programs are there too.
    has_lines: bool,
    endian: RunTimeEndian,
}

impl Units {
    /// All of it; `None` where the file has no debug information.
    pub fn load<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> anyhow::Result<Option<Units>> {
        if !sections::has(file, ".debug_info") {
            return Ok(None);
        }
        let dwarf = gimli::Dwarf::load(|id| sections::reader(file, None, id.name()))?;
        Units::new(dwarf, true, sections::endian(file)).map(Some)
    }

    /// What types are described by, straight from the opened file.
    pub fn load_types<'data, R: ReadRef<'data>>(
        file: &object::File<'data, R>,
        raw: &std::fs::File,
    ) -> anyhow::Result<Units> {
        use gimli::SectionId as S;
        let wanted = [
            S::DebugInfo,
            S::DebugTypes,
            S::DebugAbbrev,
            S::DebugStr,
            S::DebugLineStr,
            S::DebugStrOffsets,
            // Says whether there are other files: `is_split`.
            S::DebugAddr,
        ];
        let load = |id: S| match wanted.contains(&id) {
            true => sections::reader(file, Some(raw), id.name()),
            false => Ok(sections::empty(file)),
        };
        Units::new(gimli::Dwarf::load(load)?, false, sections::endian(file))
    }

    fn new(mut dwarf: gimli::Dwarf<Reader>, has_lines: bool, endian: RunTimeEndian) -> anyhow::Result<Units> {
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let words = |error| anyhow::anyhow!("{}", dwarf.format_error(error));
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().map_err(words)? {
            units.push((header, OnceLock::new()));
        }
        let first_type_unit = units.len();
        let mut headers = dwarf.type_units();
        while let Some(header) = headers.next().map_err(words)? {
            units.push((header, OnceLock::new()));
        }
        let signatures = units.iter().enumerate().filter_map(|(number, unit)| signature(number, &unit.0)).collect();
        Ok(Units { dwarf: Arc::new(dwarf), units, first_type_unit, signatures, has_lines, endian })
    }

    pub fn dwarf(&self) -> &Arc<gimli::Dwarf<Reader>> {
        &self.dwarf
    }

    pub fn endian(&self) -> RunTimeEndian {
        self.endian
    }

    /// How many units there are.
    pub fn units(&self) -> usize {
        self.units.len()
    }

    /// Whether units have their debug information in files of their own, which are not read.
    pub fn is_split(&self) -> bool {
        // What the other files are without is the addresses.
        if gimli::Reader::is_empty(gimli::Section::reader(&self.dwarf.debug_addr)) {
            return false;
        }
        let mut units = (0..self.units.len()).filter_map(|number| self.unit_numbered(number).ok());
        units.any(|unit| matches!(unit.dwo_name(), Ok(Some(_))))
    }

    pub fn header(&self, number: usize) -> &gimli::UnitHeader<Reader> {
        &self.units[number].0
    }

    pub fn unit_numbered(&self, number: usize) -> gimli::Result<&Unit> {
        let (header, unit) = &self.units[number];
        let parse = || match self.has_lines {
            true => self.dwarf.unit(header.clone()),
            false => lean_unit(&self.dwarf, header.clone()),
        };
        unit.get_or_init(parse).as_ref().map_err(|error| *error)
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
        let next = units.partition_point(|unit| unit_start(&unit.0) <= offset);
        next.checked_sub(1)
    }

    pub fn unit(&self, die: Die) -> gimli::Result<&Unit> {
        self.unit_numbered(die.unit as usize)
    }

    pub fn encoding(&self, die: Die) -> gimli::Encoding {
        self.header(die.unit as usize).encoding()
    }

    pub fn entry(&self, die: Die) -> Option<Entry<'_>> {
        self.unit(die).ok()?.entry(UnitOffset(die.offset)).ok()
    }

    pub fn tag(&self, die: Die) -> Option<DwTag> {
        Some(self.entry(die)?.tag())
    }

    pub fn value(&self, die: Die, at: DwAt) -> Option<AttributeValue<Reader>> {
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

    pub fn string(&self, unit: usize, value: AttributeValue<Reader>) -> Option<String> {
        let text = self.dwarf.attr_string(self.unit_numbered(unit).ok()?, value).ok()?;
        Some(gimli::Reader::to_string_lossy(&text).ok()?.into_owned())
    }

    /// The entry that attribute `at` of `die` refers to.
    pub fn link(&self, die: Die, at: DwAt) -> Option<Die> {
        self.target(die.unit as usize, self.value(die, at)?)
    }

    pub fn target(&self, unit: usize, value: AttributeValue<Reader>) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit: unit as u32, offset: offset.0 }),
            AttributeValue::DebugInfoRef(offset) => {
                let unit = self.unit_at(offset.0)?;
                Some(Die { unit: unit as u32, offset: offset.0 - unit_start(&self.units[unit].0) })
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
        let unit_of = self.unit_numbered(unit).ok()?;
        let header = unit_of.line_program.as_ref()?.header();
        let file = header.file(number)?;
        let name = self.string(unit, file.path_name())?;
        if name.starts_with('/') {
            return Some(name);
        }
        let directory = self.string(unit, file.directory(header)?)?;
        let root =
            unit_of.comp_dir.as_ref().and_then(|dir| Some(gimli::Reader::to_string_lossy(dir).ok()?.into_owned()));
        Some(match root {
            Some(root) if !directory.starts_with('/') => format!("{root}/{directory}/{name}"),
            _ => format!("{directory}/{name}"),
        })
    }

    pub fn children(&self, die: Die) -> Vec<(DwTag, Die)> {
        self.try_children(die).unwrap_or_default()
    }

    fn try_children(&self, die: Die) -> gimli::Result<Vec<(DwTag, Die)>> {
        let mut tree = self.unit(die)?.entries_tree(Some(UnitOffset(die.offset)))?;
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

    pub fn is_cpp(&self, die: Die) -> bool {
        use gimli::constants as c;
        let all = [
            c::DW_LANG_C_plus_plus,
            c::DW_LANG_C_plus_plus_03,
            c::DW_LANG_C_plus_plus_11,
            c::DW_LANG_C_plus_plus_14,
            c::DW_LANG_C_plus_plus_17,
            c::DW_LANG_C_plus_plus_20,
        ];
        self.language(die).is_some_and(|language| all.contains(&language))
    }

    fn language(&self, die: Die) -> Option<gimli::DwLang> {
        let mut tree = self.unit(die).ok()?.entries_tree(None).ok()?;
        match tree.root().ok()?.entry().attr_value(gimli::DW_AT_language).ok()?? {
            AttributeValue::Language(language) => Some(language),
            _ => None,
        }
    }
}

fn unit_start(header: &gimli::UnitHeader<Reader>) -> usize {
    match header.offset() {
        gimli::UnitSectionOffset::DebugInfoOffset(offset) => offset.0,
        gimli::UnitSectionOffset::DebugTypesOffset(offset) => offset.0,
    }
}

fn signature(number: usize, header: &gimli::UnitHeader<Reader>) -> Option<(u64, Die)> {
    match header.type_() {
        gimli::UnitType::Type { type_signature, type_offset } => {
            Some((type_signature.0, Die { unit: number as u32, offset: type_offset.0 }))
        }
        _ => None,
    }
}

/// A unit without its line program, which takes most of the time and memory that a unit takes.
fn lean_unit(dwarf: &gimli::Dwarf<Reader>, header: gimli::UnitHeader<Reader>) -> gimli::Result<Unit> {
    let abbreviations = dwarf.abbreviations(&header)?;
    let encoding = header.encoding();
    let mut unit = Unit {
        abbreviations,
        name: None,
        comp_dir: None,
        low_pc: 0,
        str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(encoding, dwarf.file_type),
        addr_base: gimli::DebugAddrBase(0),
        loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, dwarf.file_type),
        rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, dwarf.file_type),
        line_program: None,
        dwo_id: None,
        header,
    };
    let (mut name, mut base) = (None, None);
    {
        let mut cursor = unit.header.entries(&unit.abbreviations);
        cursor.next_dfs()?;
        let mut attributes = cursor.current().ok_or(gimli::Error::MissingUnitDie)?.attrs();
        while let Some(attribute) = attributes.next()? {
            match (attribute.name(), attribute.value()) {
                (gimli::DW_AT_name, value) => name = Some(value),
                (gimli::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(offset)) => base = Some(offset),
                _ => {}
            }
        }
    }
    unit.str_offsets_base = base.unwrap_or(unit.str_offsets_base);
    unit.name = name.and_then(|name| dwarf.attr_string(&unit, name).ok());
    Ok(unit)
}
