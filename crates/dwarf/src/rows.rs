// SPDX-License-Identifier: MIT OR Apache-2.0
//! The types of one unit in a table, to tell which of its structures are known from other units.
//!
//! A header's structures are in every unit that includes it, in some programs thousands of times. Only a hash of
//! each is made here: equal hashes are equal structures, of which one is read.
use crate::facts::Facts;
use crate::read::keyword;
use crate::sections::Reader;
use crate::units::Unit;
use crate::{Die, Info};
use anyhow::{Result, anyhow, ensure};
use gimli::{AttributeValue, DwTag, constants as c};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// No row, no name.
const NONE: u32 = u32::MAX;

/// Entries nested deeper than this are no compiler's.
const DEEPEST: isize = 400;

/// An entry that takes part in types.
pub struct Row {
    pub offset: u32,
    /// The row of what is around it, and the number of the row after what is inside.
    parent: u32,
    end: u32,
    /// The type that it refers to, by offset in the unit.
    link: u32,
    name: u64,
    /// Hash of its other attributes.
    own: u64,
    pub tag: DwTag,
    is_declaration: bool,
    has_variants: bool,
    /// The type that it refers to is in another unit.
    is_far: bool,
}

/// The rows of a unit, by offset.
pub struct Rows {
    unit: u32,
    rows: Vec<Row>,
    /// Hashes of [`Rows::identity`], once they are known.
    known: Vec<u64>,
}

/// A structure's definition with a name: its own row, or that of the typedef that names it.
pub struct Candidate {
    pub row: usize,
    pub hash: u64,
    /// The typedef's row; the same as `row` where the structure is in another unit.
    pub typedef: Option<usize>,
}

impl Rows {
    pub fn read(info: &Info, unit: u32) -> Result<Rows> {
        let header = info.header(unit as usize);
        let start = header.offset();
        let start = start.as_debug_info_offset().map(|at| at.0).or(start.as_debug_types_offset().map(|at| at.0));
        let mut at = 0;
        let read = read(info, unit, &mut at);
        read.map_err(|error| anyhow!("entry at {:#x} of .debug_info: {error:#}", start.unwrap_or(0) + at))
    }

    pub fn row(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    pub fn at(&self, offset: usize) -> Option<usize> {
        self.rows.binary_search_by_key(&offset, |row| row.offset as usize).ok()
    }

    /// The rows around `row`, inner before outer, that are part of its name.
    pub fn around(&self, row: usize) -> impl Iterator<Item = usize> {
        let mut at = self.rows[row].parent;
        std::iter::from_fn(move || {
            let here = self.rows.get(at as usize)?;
            Some((std::mem::replace(&mut at, here.parent) as usize, here.tag))
        })
        // A definition's declaration may claim to be inside it.
        .take(DEEPEST as usize)
        .filter(|(_, tag)| keyword(*tag).is_some() || *tag == c::DW_TAG_namespace)
        .map(|(row, _)| row)
    }

    /// Structures that are defined here and have names.
    pub fn candidates(&mut self, info: &Info) -> Vec<Candidate> {
        let mut found = Vec::new();
        for row in 0..self.rows.len() {
            let here = &self.rows[row];
            if self.is_listed(row) {
                found.push(Candidate { row, hash: self.identity(row), typedef: None });
            } else if here.tag == c::DW_TAG_typedef
                && let Some(of) = self.linked(row)
                && self.is_definition(of)
                && self.rows[of].name == 0
            {
                found.push(Candidate { row: of, hash: self.identity(row), typedef: Some(row) });
            } else if here.tag == c::DW_TAG_typedef && here.is_far && names_far_structure(info, self.die(row)) {
                found.push(Candidate { row, hash: self.identity(row), typedef: Some(row) });
            }
        }
        found
    }

    /// Whether it is one of [`Rows::candidates`] by its own name.
    pub fn is_listed(&self, row: usize) -> bool {
        self.is_definition(row) && self.rows[row].name != 0 && !self.is_variant(row)
    }

    fn is_definition(&self, row: usize) -> bool {
        keyword(self.rows[row].tag).is_some() && !self.rows[row].is_declaration
    }

    /// The structure of a Rust enumeration's variant, which is shown in the enumeration.
    fn is_variant(&self, row: usize) -> bool {
        self.rows.get(self.rows[row].parent as usize).is_some_and(|parent| parent.has_variants)
    }

    fn linked(&self, row: usize) -> Option<usize> {
        let link = self.rows[row].link;
        if link == NONE { None } else { self.at(link as usize) }
    }

    /// Equal for types that are called alike and made alike.
    pub fn identity(&mut self, row: usize) -> u64 {
        self.identity_within(row, 64)
    }

    fn identity_within(&mut self, row: usize, depth: usize) -> u64 {
        if self.known[row] != 0 || depth == 0 {
            return self.known[row];
        }
        let mut hash = FxHasher::default();
        let here = &self.rows[row];
        (here.tag.0, here.name, here.own, here.is_declaration).hash(&mut hash);
        if here.name != 0 {
            let around: Vec<u64> = self.around(row).map(|row| self.rows[row].name).collect();
            around.hash(&mut hash);
        }
        if self.is_definition(row) {
            self.hash_members(row, depth, &mut hash);
        } else if let Some(link) = self.linked(row) {
            let is_typedef = here.tag == c::DW_TAG_typedef;
            // What a typedef or pointer refers to by name may refer back to this.
            match self.rows[link].name {
                0 => self.identity_within(link, depth - 1).hash(&mut hash),
                name if is_typedef => (self.rows[link].tag.0, name, self.rows[link].own).hash(&mut hash),
                name => (self.rows[link].tag.0, name).hash(&mut hash),
            }
        }
        self.known[row] = hash.finish().max(1);
        self.known[row]
    }

    fn hash_members(&mut self, record: usize, depth: usize, hash: &mut FxHasher) {
        let mut row = record + 1;
        while row < self.rows[record].end as usize {
            let here = &self.rows[row];
            let is_part = matches!(here.tag, c::DW_TAG_variant_part | c::DW_TAG_variant);
            let is_member = matches!(here.tag, c::DW_TAG_member | c::DW_TAG_inheritance);
            // A structure inside is hashed where a member is of its type.
            let next = if is_part { row + 1 } else { (here.end as usize).max(row + 1) };
            if is_part || is_member {
                (here.tag.0, here.name, here.own).hash(hash);
                if let Some(link) = self.linked(row).filter(|_| is_member) {
                    match self.rows[link].name {
                        0 => self.identity_within(link, depth - 1).hash(hash),
                        name => (self.rows[link].tag.0, name, self.rows[link].own).hash(hash),
                    }
                }
            }
            row = next;
        }
    }
}

fn read(info: &Info, number: u32, at: &mut usize) -> Result<Rows> {
    let words = |error| anyhow!("{}", info.dwarf().format_error(error));
    let unit = info.unit_numbered(number as usize).map_err(words)?;
    let bytes = unit.header.length_including_self();
    ensure!(bytes < NONE as usize, "the unit has {bytes} bytes");
    // What a compiler writes takes several bytes an entry; entries without any attributes use up memory.
    let most = (1 << 16) + bytes / 8;
    let mut entries = unit.entries_raw(None).map_err(words)?;
    let (mut rows, mut specifications): (Vec<Row>, Vec<(usize, u32)>) = Default::default();
    let mut open: Vec<(isize, u32)> = Vec::new();
    while !entries.is_empty() {
        let (offset, depth) = (entries.next_offset().0, entries.next_depth());
        *at = offset;
        while open.last().is_some_and(|(opened, _)| *opened >= depth) {
            let (_, row) = open.pop().unwrap_or_default();
            rows[row as usize].end = rows.len() as u32;
        }
        let Some(abbreviation) = entries.read_abbreviation().map_err(words)? else {
            continue;
        };
        let tag = abbreviation.tag();
        if !is_wanted(tag) {
            entries.skip_attributes(abbreviation.attributes()).map_err(words)?;
            continue;
        }
        ensure!(depth <= DEEPEST, "nested {depth} deep");
        ensure!(rows.len() < most, "more than {most} entries in {bytes} bytes");
        let facts = info.facts(number, abbreviation, &mut entries).map_err(words)?;
        let parent = open.last().map_or(NONE, |(_, row)| *row);
        let own = own_hash(number, &facts);
        if tag == c::DW_TAG_subrange_type {
            // An array is told apart by its bounds; as a type of its own it is seldom met.
            if let Some(array) = rows.get_mut(parent as usize) {
                array.own = array.own.rotate_left(5) ^ own;
            }
            continue;
        }
        if tag == c::DW_TAG_variant_part
            && let Some(record) = rows.get_mut(parent as usize)
        {
            record.has_variants = true;
        }
        let row = rows.len() as u32;
        let same_unit = |die: Die| if die.unit == number { die.offset as u32 } else { NONE };
        if let (None, Some(declaration)) = (&facts.name, facts.specification) {
            specifications.push((row as usize, same_unit(declaration)));
        }
        rows.push(Row {
            offset: offset as u32,
            parent,
            end: row + 1,
            link: facts.link.map_or(NONE, same_unit),
            name: facts.name.as_ref().map_or(0, |name| name_hash(info, unit, name)),
            own,
            tag,
            is_declaration: facts.is_declaration,
            has_variants: false,
            is_far: facts.link.is_some_and(|die| die.unit != number),
        });
        if abbreviation.has_children() {
            open.push((depth, row));
        }
    }
    for (_, row) in open {
        rows[row as usize].end = rows.len() as u32;
    }
    let known = vec![0; rows.len()];
    let mut rows = Rows { unit: number, rows, known };
    for (row, declaration) in specifications {
        if let Some(declared) = rows.at(declaration as usize) {
            (rows.rows[row].name, rows.rows[row].parent) = (rows.rows[declared].name, rows.rows[declared].parent);
        }
    }
    Ok(rows)
}

impl Rows {
    pub fn die(&self, row: usize) -> Die {
        Die { unit: self.unit, offset: self.rows[row].offset as usize }
    }
}

/// A typedef of a structure without a name that is a type unit.
fn names_far_structure(info: &Info, typedef: Die) -> bool {
    let target = info.link(typedef, c::DW_AT_type);
    target.is_some_and(|target| info.tag(target).and_then(keyword).is_some() && info.name(target).is_none())
}

/// Equal for equal names: linkers keep one copy of each string.
fn name_hash(info: &Info, unit: &Unit, name: &AttributeValue<Reader>) -> u64 {
    let mut hash = FxHasher::default();
    match name {
        AttributeValue::DebugStrRef(offset) => (1, offset.0).hash(&mut hash),
        AttributeValue::DebugLineStrRef(offset) => (2, offset.0).hash(&mut hash),
        AttributeValue::DebugStrOffsetsIndex(index) => {
            (1, info.dwarf().string_offset(unit, *index).map_or(0, |offset| offset.0)).hash(&mut hash);
        }
        AttributeValue::String(text) => text.bytes().hash(&mut hash),
        _ => {}
    }
    hash.finish().max(1)
}

fn own_hash(unit: u32, facts: &Facts) -> u64 {
    let mut hash = FxHasher::default();
    let elsewhere = facts.link.filter(|die| die.unit != unit);
    (facts.size, facts.align, facts.location, facts.bit_size, facts.data_bit_offset, facts.bit_offset).hash(&mut hash);
    (facts.upper_bound, facts.count, facts.discriminant_value, elsewhere).hash(&mut hash);
    (facts.is_static, facts.is_virtual, facts.is_artificial).hash(&mut hash);
    hash.finish()
}

fn is_wanted(tag: DwTag) -> bool {
    matches!(
        tag,
        c::DW_TAG_structure_type
            | c::DW_TAG_class_type
            | c::DW_TAG_union_type
            | c::DW_TAG_member
            | c::DW_TAG_inheritance
            | c::DW_TAG_variant_part
            | c::DW_TAG_variant
            | c::DW_TAG_namespace
            | c::DW_TAG_enumeration_type
            | c::DW_TAG_typedef
            | c::DW_TAG_base_type
            | c::DW_TAG_unspecified_type
            | c::DW_TAG_pointer_type
            | c::DW_TAG_reference_type
            | c::DW_TAG_rvalue_reference_type
            | c::DW_TAG_ptr_to_member_type
            | c::DW_TAG_const_type
            | c::DW_TAG_volatile_type
            | c::DW_TAG_atomic_type
            | c::DW_TAG_restrict_type
            | c::DW_TAG_array_type
            | c::DW_TAG_subrange_type
            | c::DW_TAG_subroutine_type
    )
}
