// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an entry of DWARF says of a type or member, read in one go.
use crate::sections::Reader;
use crate::{Die, Info};
use gimli::{AttributeValue, DwTag, EntriesRaw, UnitOffset, constants as c};

/// The attributes that structures are made of.
#[derive(Clone, Debug)]
pub struct Facts {
    pub tag: DwTag,
    pub name: Option<AttributeValue<Reader>>,
    /// `DW_AT_type`, or the type unit that a declaration stands for.
    pub link: Option<Die>,
    pub size: Option<u64>,
    pub align: Option<u64>,
    pub location: Option<u64>,
    pub bit_size: Option<u64>,
    pub data_bit_offset: Option<u64>,
    /// Of DWARF 2 and 3: from the most significant bit of the storage unit.
    pub bit_offset: Option<u64>,
    pub upper_bound: Option<u64>,
    pub count: Option<u64>,
    pub discriminant: Option<Die>,
    pub discriminant_value: Option<u64>,
    /// Of a definition outside of its class or namespace: the declaration there.
    pub specification: Option<Die>,
    pub is_declaration: bool,
    pub is_static: bool,
    pub is_virtual: bool,
    pub is_artificial: bool,
}

impl Facts {
    fn new(tag: DwTag) -> Facts {
        Facts {
            tag,
            name: None,
            link: None,
            size: None,
            align: None,
            location: None,
            bit_size: None,
            data_bit_offset: None,
            bit_offset: None,
            upper_bound: None,
            count: None,
            discriminant: None,
            discriminant_value: None,
            specification: None,
            is_declaration: false,
            is_static: false,
            is_virtual: false,
            is_artificial: false,
        }
    }
}

/// An entry with those directly below it.
pub struct Family {
    pub own: Facts,
    pub children: Vec<(Die, Facts)>,
}

impl Info {
    /// `None` where there is no entry.
    pub fn family(&self, die: Die) -> gimli::Result<Option<Family>> {
        let mut entries = self.unit(die)?.entries_raw(Some(UnitOffset(die.offset)))?;
        let Some(abbreviation) = entries.read_abbreviation()? else {
            return Ok(None);
        };
        let own = self.facts(die.unit, abbreviation, &mut entries)?;
        let mut children = Vec::new();
        // The depth is counted from this entry on: 0 after the last of those below it.
        while abbreviation.has_children() && entries.next_depth() > 0 && !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset().0);
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            if depth == 1 {
                let facts = self.facts(die.unit, abbreviation, &mut entries)?;
                children.push((Die { unit: die.unit, offset }, facts));
            } else {
                entries.skip_attributes(abbreviation.attributes())?;
            }
        }
        Ok(Some(Family { own, children }))
    }

    pub fn facts(
        &self,
        unit: u32,
        abbreviation: &gimli::Abbreviation,
        entries: &mut EntriesRaw<'_, '_, Reader>,
    ) -> gimli::Result<Facts> {
        let mut facts = Facts::new(abbreviation.tag());
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification)?;
            let value = attribute.value();
            match attribute.name() {
                c::DW_AT_name => facts.name = Some(value),
                c::DW_AT_type => facts.link = self.target(unit as usize, value),
                c::DW_AT_signature => {
                    facts.link = self.target(unit as usize, value);
                    facts.is_declaration = true;
                }
                c::DW_AT_byte_size => facts.size = value.udata_value(),
                c::DW_AT_alignment => facts.align = value.udata_value(),
                c::DW_AT_data_member_location => facts.location = self.constant(unit, value),
                c::DW_AT_bit_size => facts.bit_size = value.udata_value(),
                c::DW_AT_data_bit_offset => facts.data_bit_offset = value.udata_value(),
                c::DW_AT_bit_offset => facts.bit_offset = value.udata_value(),
                c::DW_AT_upper_bound => facts.upper_bound = value.udata_value(),
                c::DW_AT_count => facts.count = value.udata_value(),
                c::DW_AT_discr => facts.discriminant = self.target(unit as usize, value),
                c::DW_AT_discr_value => facts.discriminant_value = discriminant(&value),
                c::DW_AT_specification => facts.specification = self.target(unit as usize, value),
                c::DW_AT_declaration => facts.is_declaration |= is_set(&value),
                c::DW_AT_external => facts.is_static = is_set(&value),
                c::DW_AT_artificial => facts.is_artificial = is_set(&value),
                c::DW_AT_virtuality => {
                    facts.is_virtual = !matches!(value, AttributeValue::Virtuality(c::DW_VIRTUALITY_none));
                }
                _ => {}
            }
        }
        Ok(facts)
    }

    /// A number, or the expression that older compilers write for one.
    fn constant(&self, unit: u32, value: AttributeValue<Reader>) -> Option<u64> {
        if let Some(number) = value.udata_value() {
            return Some(number);
        }
        let mut operations = value.exprloc_value()?.operations(self.header(unit as usize).encoding());
        match operations.next().ok()?? {
            gimli::Operation::PlusConstant { value } | gimli::Operation::UnsignedConstant { value } => Some(value),
            _ => None,
        }
    }
}

fn is_set(value: &AttributeValue<Reader>) -> bool {
    matches!(value, AttributeValue::Flag(true))
}

/// Signed where the compiler wrote it so; then with the sign in all 64 bits.
fn discriminant(value: &AttributeValue<Reader>) -> Option<u64> {
    value.udata_value().or_else(|| value.sdata_value().map(|value| value as u64))
}
