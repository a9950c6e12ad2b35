// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables by address, from one pass over all debug information that reads nothing else.
use crate::sections::Reader;
use crate::units::{Die, Units};
use gimli::{AttributeValue, constants as c};

/// A variable with a fixed address, or one in each thread's block.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub address: u64,
    pub die: Die,
}

#[derive(Default)]
pub struct Variables {
    /// By address.
    fixed: Vec<Variable>,
    /// By offset in the file's block of thread-local variables.
    thread_locals: Vec<Variable>,
}

/// Where a variable is.
#[derive(Clone, Copy)]
enum Location {
    Fixed(u64),
    /// So far into the file's block.
    ThreadLocal(u64),
}

impl Variables {
    pub fn build(units: &Units) -> Variables {
        let mut all = Variables::default();
        for unit in 0..units.units() {
            // Of a damaged unit, the entries before the damage are used.
            let _ = all.scan(units, unit);
        }
        all.fixed.sort_by_key(|variable| variable.address);
        all.thread_locals.sort_by_key(|variable| variable.address);
        all
    }

    /// The variable whose bytes `address` is among.
    pub fn at(&self, address: u64, bytes_of: impl Fn(Die) -> u64) -> Option<Variable> {
        found(&self.fixed, address, bytes_of)
    }

    /// The thread-local variable whose bytes this offset in their block is among.
    pub fn thread_local_at(&self, offset: u64, bytes_of: impl Fn(Die) -> u64) -> Option<Variable> {
        found(&self.thread_locals, offset, bytes_of)
    }

    fn scan(&mut self, units: &Units, unit: usize) -> gimli::Result<()> {
        let mut entries = units.unit_numbered(unit)?.entries_raw(None)?;
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            let attributes = abbreviation.attributes();
            if abbreviation.tag() != c::DW_TAG_variable || !attributes.iter().any(|a| a.name() == c::DW_AT_location) {
                entries.skip_attributes(attributes)?;
                continue;
            }
            let die = Die { unit: unit as u32, offset: offset.0 };
            for specification in attributes {
                let attribute = entries.read_attribute(*specification)?;
                if attribute.name() == c::DW_AT_location {
                    match location(units, unit, attribute.value()) {
                        Some(Location::Fixed(address)) => self.fixed.push(Variable { address, die }),
                        Some(Location::ThreadLocal(address)) => self.thread_locals.push(Variable { address, die }),
                        None => {}
                    }
                }
            }
        }
        Ok(())
    }
}

/// The variable of a sorted list that an address is in.
fn found(variables: &[Variable], address: u64, bytes_of: impl Fn(Die) -> u64) -> Option<Variable> {
    let end = variables.partition_point(|variable| variable.address <= address);
    // Enough to step over an alias or a variable of size zero at the same place.
    let mut near = variables[..end].iter().rev().take(4).copied();
    near.find(|variable| address < variable.address + bytes_of(variable.die))
}

fn location(units: &Units, unit: usize, value: AttributeValue<Reader>) -> Option<Location> {
    use gimli::Operation::{Address, AddressIndex, TLS, UnsignedConstant};
    let unit = units.unit_numbered(unit).ok()?;
    let mut operations = value.exprloc_value()?.operations(unit.encoding());
    let first = operations.next().ok()??;
    // More operations: not simply an address (a thread-local variable, a constant).
    match (first, operations.next().ok()?) {
        (Address { address: 0 }, None) => None,
        (Address { address }, None) => Some(Location::Fixed(address)),
        (AddressIndex { index }, None) => Some(Location::Fixed(units.dwarf().address(unit, index).ok()?)),
        (Address { address: offset } | UnsignedConstant { value: offset }, Some(TLS)) => {
            Some(Location::ThreadLocal(offset))
        }
        _ => None,
    }
}
