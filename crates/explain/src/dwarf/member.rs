// SPDX-License-Identifier: MIT OR Apache-2.0
//! The members of structures.
use super::{Debug, Die};
use gimli::{DwTag, constants as c};

/// A member of a structure, or a base class.
pub(super) struct Member {
    pub name: Option<String>,
    pub kind: Die,
    pub offset: u64,
    /// `None`: a flexible array, which reaches to the object's end.
    pub size: Option<u64>,
    pub is_bits: bool,
}

impl Member {
    pub fn holds(&self, from: u64, bytes: u64) -> bool {
        from >= self.offset && self.size.is_none_or(|size| from + bytes <= self.offset + size)
    }

    pub fn meets(&self, from: u64, bytes: u64) -> bool {
        from + bytes > self.offset && self.size.is_none_or(|size| from < self.offset + size)
    }
}

impl Debug {
    pub(super) fn members(&self, kind: Die) -> Vec<Member> {
        self.children(kind).into_iter().filter_map(|(tag, die)| self.member(tag, die)).collect()
    }

    fn member(&self, tag: DwTag, die: Die) -> Option<Member> {
        // A static member has no place in the object; a virtual base has none that is fixed.
        let elsewhere = self.flag(die, c::DW_AT_external) || self.number(die, c::DW_AT_virtuality).is_some();
        if !matches!(tag, c::DW_TAG_member | c::DW_TAG_inheritance) || elsewhere {
            return None;
        }
        let kind = self.link(die, c::DW_AT_type)?;
        let size = self.size_of(kind);
        if size == Some(0) || (size == Some(1) && self.is_empty(kind)) {
            return None;
        }
        let name = if tag == c::DW_TAG_member { self.text(die, c::DW_AT_name) } else { None };
        let start = self.number(die, c::DW_AT_data_member_location).unwrap_or(0);
        match self.number(die, c::DW_AT_bit_size) {
            Some(bits) => {
                let (offset, bytes) = self.bit_bytes(die, start, size.unwrap_or(1), bits);
                Some(Member { name, kind, offset, size: Some(bytes), is_bits: true })
            }
            None => Some(Member { name, kind, offset: start, size, is_bits: false }),
        }
    }

    /// A Rust enumeration, whose values are laid out in different ways.
    pub(super) fn has_variants(&self, kind: Die) -> bool {
        self.children(kind).iter().any(|child| child.0 == c::DW_TAG_variant_part)
    }

    /// A class without members has size 1, but shares its byte with what is beside it.
    fn is_empty(&self, kind: Die) -> bool {
        let kind = self.strip(kind);
        matches!(self.tag(kind), Some(c::DW_TAG_structure_type | c::DW_TAG_class_type)) && self.members(kind).is_empty()
    }

    /// The bytes that a bit-field has bits in: first and number.
    fn bit_bytes(&self, die: Die, start: u64, unit_bytes: u64, bits: u64) -> (u64, u64) {
        let first_bit = match (self.number(die, c::DW_AT_data_bit_offset), self.number(die, c::DW_AT_bit_offset)) {
            (Some(offset), _) => start * 8 + offset,
            // DWARF 2 and 3 count from the most significant bit of the storage unit.
            (None, Some(offset)) => {
                let unit_bytes = self.number(die, c::DW_AT_byte_size).unwrap_or(unit_bytes);
                start * 8 + (unit_bytes * 8).saturating_sub(offset + bits)
            }
            (None, None) => start * 8,
        };
        (first_bit / 8, (first_bit + bits).div_ceil(8) - first_bit / 8)
    }

    /// Whether an object of this type may be longer than the type says: `struct { …; T rest[]; }`.
    pub fn is_flexible(&self, kind: Die) -> bool {
        let kind = self.strip(kind);
        self.tag(kind) == Some(c::DW_TAG_structure_type)
            && self.members(kind).last().is_some_and(|last| last.size.is_none() || self.is_one_element(last))
    }

    /// Before C99, the last member was declared with one element.
    fn is_one_element(&self, member: &Member) -> bool {
        let kind = self.strip(member.kind);
        self.tag(kind) == Some(c::DW_TAG_array_type) && self.bounds(kind) == [Some(1)]
    }

    /// The type of the member `name`, looked for in base classes and anonymous members too.
    pub fn member_type(&self, kind: Die, name: &str) -> Option<Die> {
        let members = self.members(self.strip(kind));
        let own = members.iter().find(|member| member.name.as_deref() == Some(name));
        own.map(|member| member.kind).or_else(|| {
            members.iter().filter(|member| member.name.is_none()).find_map(|member| self.member_type(member.kind, name))
        })
    }
}
