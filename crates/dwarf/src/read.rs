// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types and their members, from entries of DWARF.
use crate::facts::{Facts, Family};
use crate::kind::{Kind, Qualifier, Sign};
use crate::record::{Bits, Keyword, Member, Record, Role, Variant, Variants};
use crate::{Die, Info};
use gimli::{DwTag, RunTimeEndian, constants as c};
use std::cell::Cell;

/// What a structure is called in the source.
pub fn keyword(tag: DwTag) -> Option<Keyword> {
    match tag {
        c::DW_TAG_structure_type => Some(Keyword::Struct),
        c::DW_TAG_class_type => Some(Keyword::Class),
        c::DW_TAG_union_type => Some(Keyword::Union),
        _ => None,
    }
}

impl Info {
    /// The structure, union, class or Rust enumeration at `die`; `None` where none is.
    pub fn record(&self, die: Die) -> Option<Record<Die>> {
        let family = self.family(die).ok()??;
        Some(self.record_of(die.unit, &family, keyword(family.own.tag)?))
    }

    fn record_of(&self, unit: u32, family: &Family, keyword: Keyword) -> Record<Die> {
        let parts = || family.children.iter();
        let variants = parts().find(|(_, facts)| facts.tag == c::DW_TAG_variant_part);
        let variants = variants.and_then(|(die, _)| self.variants(*die));
        Record {
            keyword: if variants.is_some() { Keyword::Enum } else { keyword },
            name: self.name_of(unit, &family.own),
            size: family.own.size.unwrap_or(0),
            align: family.own.align,
            members: within_reason(parts().filter_map(|(_, facts)| self.member(unit, facts))),
            variants,
        }
    }

    /// The members of the structure at `die`, each with its own entry.
    pub fn members(&self, die: Die) -> Vec<(Member<Die>, Die)> {
        let family = self.family(die).ok().flatten();
        let parts = family.iter().flat_map(|family| &family.children);
        parts.filter_map(|(part, facts)| Some((self.member(die.unit, facts)?, *part))).collect()
    }

    pub fn name_of(&self, unit: u32, facts: &Facts) -> Option<String> {
        match (facts.name.clone(), facts.specification) {
            (Some(name), _) => self.string(unit as usize, name),
            (None, Some(declaration)) => self.text(declaration, c::DW_AT_name),
            (None, None) => None,
        }
    }

    fn variants(&self, part: Die) -> Option<Variants<Die>> {
        let family = self.family(part).ok()??;
        let tag = family.children.iter().find(|(die, _)| Some(*die) == family.own.discriminant);
        let list = family.children.iter().filter(|(_, facts)| facts.tag == c::DW_TAG_variant);
        let variant = |(die, facts): &(Die, Facts)| {
            let members = self.family(*die).ok().flatten().map(|family| family.children).unwrap_or_default();
            let members = within_reason(members.iter().filter_map(|(_, facts)| self.member(die.unit, facts)));
            Variant { value: facts.discriminant_value, members }
        };
        let tag = tag.and_then(|(_, facts)| self.member(part.unit, facts));
        Some(Variants { tag, list: list.map(variant).collect() })
    }

    fn member(&self, unit: u32, facts: &Facts) -> Option<Member<Die>> {
        // A static member has no place in the object; a virtual base has none that is fixed.
        let elsewhere = facts.is_static || facts.is_virtual || facts.is_declaration;
        let role = match facts.tag {
            c::DW_TAG_inheritance => Role::Base,
            c::DW_TAG_member if facts.is_artificial => Role::Hidden,
            c::DW_TAG_member => Role::Field,
            _ => return None,
        };
        let kind = facts.link.filter(|_| !elsewhere)?;
        let size = self.size_of(kind);
        let start = facts.location.unwrap_or(0);
        let bits = facts.bit_size.map(|count| self.bits(facts, start, size.unwrap_or(0), count));
        let (offset, size) = match bits {
            Some(Bits { first, count }) => {
                let end = first.saturating_add(count).div_ceil(8);
                (first / 8, Some(end - first / 8))
            }
            None => (start, size),
        };
        let name = self.name_of(unit, facts).filter(|_| role != Role::Base);
        Some(Member { role, name, kind, offset, size, bits, align: facts.align })
    }

    fn bits(&self, facts: &Facts, start: u64, unit_bytes: u64, count: u64) -> Bits {
        let start = start.saturating_mul(8);
        let first = match (facts.data_bit_offset, facts.bit_offset) {
            (Some(offset), _) => start.saturating_add(offset),
            (None, Some(offset)) => {
                let unit_bits = facts.size.unwrap_or(unit_bytes).saturating_mul(8);
                let offset = match self.endian() {
                    RunTimeEndian::Little => unit_bits.saturating_sub(offset.saturating_add(count)),
                    RunTimeEndian::Big => offset,
                };
                start.saturating_add(offset)
            }
            (None, None) => start,
        };
        Bits { first, count }
    }

    /// The type at `die`, with references to the types that it is made of.
    pub fn kind(&self, die: Die) -> Kind<Die> {
        let Some(family) = self.family(die).ok().flatten() else {
            return Kind::Unknown;
        };
        let (own, unit) = (&family.own, die.unit);
        let name = || self.name_of(unit, own);
        let in_c = || self.has_tags(die);
        let of = own.link;
        let pointer = |sign| {
            let size = self.size_of(die).unwrap_or(u64::from(self.encoding(die).address_size));
            Kind::Pointer { name: name(), to: of, size, sign }
        };
        let qualified = |how| Kind::Qualified { how, of };
        match own.tag {
            c::DW_TAG_base_type | c::DW_TAG_unspecified_type | c::DW_TAG_subrange_type => {
                Kind::Base { name: name().unwrap_or_default(), size: own.size.unwrap_or(0) }
            }
            c::DW_TAG_enumeration_type => {
                let size = own.size.or_else(|| self.size_of(of?)).unwrap_or(0);
                Kind::Enumeration { name: name(), size, in_c: in_c() }
            }
            c::DW_TAG_typedef => Kind::Typedef { name: name().unwrap_or_default(), of },
            c::DW_TAG_const_type => qualified(Qualifier::Const),
            c::DW_TAG_volatile_type => qualified(Qualifier::Volatile),
            c::DW_TAG_atomic_type => qualified(Qualifier::Atomic),
            c::DW_TAG_restrict_type | c::DW_TAG_packed_type | c::DW_TAG_immutable_type | c::DW_TAG_template_alias => {
                qualified(Qualifier::Silent)
            }
            c::DW_TAG_pointer_type => pointer(Sign::Pointer),
            c::DW_TAG_reference_type => pointer(Sign::Reference),
            c::DW_TAG_rvalue_reference_type => pointer(Sign::RvalueReference),
            c::DW_TAG_ptr_to_member_type => pointer(Sign::Member),
            c::DW_TAG_array_type => Kind::Array { of, bounds: self.bounds_of(&family), size: own.size },
            c::DW_TAG_subroutine_type => {
                let parameter =
                    |(_, facts): &(Die, Facts)| (facts.tag == c::DW_TAG_formal_parameter).then_some(facts.link);
                let variadic = family.children.iter().any(|(_, f)| f.tag == c::DW_TAG_unspecified_parameters);
                Kind::Function {
                    returns: of,
                    parameters: family.children.iter().filter_map(parameter).collect(),
                    variadic,
                }
            }
            tag => match keyword(tag) {
                Some(keyword) if own.is_declaration => {
                    Kind::Declared { keyword, name: name().unwrap_or_default(), in_c: in_c() }
                }
                Some(keyword) => {
                    Kind::Record { record: Box::new(self.record_of(unit, &family, keyword)), in_c: in_c() }
                }
                None => Kind::Unknown,
            },
        }
    }

    /// An array's number of elements, a dimension at a time; `None` where it is open.
    pub fn bounds(&self, array: Die) -> Vec<Option<u64>> {
        self.family(array).ok().flatten().map_or_else(Vec::new, |family| self.bounds_of(&family))
    }

    fn bounds_of(&self, array: &Family) -> Vec<Option<u64>> {
        let ranges = array.children.iter().filter(|(_, facts)| facts.tag == c::DW_TAG_subrange_type);
        // `T[0]` has an upper bound of -1.
        let count = |facts: &Facts| facts.count.or_else(|| facts.upper_bound.map(|last| last.wrapping_add(1)));
        let known = |count: &u64| *count != 0 && *count <= MOST_ELEMENTS;
        ranges.map(|(_, facts)| count(facts).filter(known)).collect()
    }

    // Of explain, which looks for what is at an offset.

    /// A class without members has size 1, but shares its byte with what is beside it.
    pub fn is_empty(&self, kind: Die) -> bool {
        let record = self.record(self.strip(kind));
        record
            .is_some_and(|r| r.keyword != Keyword::Union && r.variants.is_none() && self.occupied(&r).next().is_none())
    }

    /// Members that have bytes of their own.
    pub fn occupied<'a>(&self, record: &'a Record<Die>) -> impl Iterator<Item = &'a Member<Die>> {
        record.members.iter().filter(|m| m.size != Some(0) && (m.size != Some(1) || !self.is_empty(m.kind)))
    }

    /// Whether an object of this type may be longer than the type says: `struct { …; T rest[]; }`.
    pub fn is_flexible(&self, kind: Die) -> bool {
        let kind = self.strip(kind);
        let record = self.record(kind).filter(|record| record.keyword == Keyword::Struct);
        record.is_some_and(|record| {
            let last = self.occupied(&record).last();
            last.is_some_and(|last| last.size.is_none() || self.is_one_element(last))
        })
    }

    /// Before C99, the last member was declared with one element.
    fn is_one_element(&self, member: &Member<Die>) -> bool {
        let kind = self.strip(member.kind);
        self.tag(kind) == Some(c::DW_TAG_array_type) && self.bounds(kind) == [Some(1)]
    }

    /// The type of the member `name`, looked for in base classes and anonymous members too.
    pub fn member_type(&self, kind: Die, name: &str) -> Option<Die> {
        self.member_within(kind, name, &Cell::new(MOST_STEPS))
    }

    fn member_within(&self, kind: Die, name: &str, left: &Cell<u32>) -> Option<Die> {
        left.set(left.get().checked_sub(1)?);
        let record = self.record(self.strip(kind))?;
        let own = record.members.iter().find(|member| member.name.as_deref() == Some(name));
        own.map(|member| member.kind).or_else(|| {
            let mut nameless = record.members.iter().filter(|member| member.name.is_none());
            nameless.find_map(|member| self.member_within(member.kind, name, left))
        })
    }
}

/// More elements than any array has: the bound is a lie, or that of an open array.
const MOST_ELEMENTS: u64 = u32::MAX as u64;

/// A guard against classes that contain themselves.
const MOST_STEPS: u32 = 1000;

/// Names of members come to fewer bytes than this each, on average; otherwise they share their bytes, to use up memory.
const NAME_BYTES: usize = 256;

fn within_reason(members: impl Iterator<Item = Member<Die>>) -> Vec<Member<Die>> {
    let (mut found, mut bytes): (Vec<Member<Die>>, usize) = (Vec::new(), 0);
    for mut member in members {
        bytes += member.name.as_ref().map_or(0, String::len);
        if bytes > (found.len() + 16) * NAME_BYTES {
            member.name = None;
        }
        found.push(member);
    }
    found
}
