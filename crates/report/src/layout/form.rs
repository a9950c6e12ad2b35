// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members in the order of memory, with the holes before them, and what they add up to.
use corefold_dwarf::{Bits, Keyword, Member, Record, TypeId, Types};
use std::collections::HashMap;

/// Unused bits: those of a bit-field's storage that none uses, and whole bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hole {
    pub bits: u64,
    pub bytes: u64,
}

pub struct Part<'a> {
    pub member: &'a Member<TypeId>,
    pub hole: Hole,
    /// Bytes at the end of the member's own structure.
    pub padding: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub members: usize,
    /// Bytes of members that are no bit-fields, and bits of those that are.
    pub member_bytes: u64,
    pub bitfield_bits: u64,
    pub holes: u64,
    pub hole_bytes: u64,
    pub bit_holes: u64,
    pub bit_hole_bits: u64,
    /// After the last member.
    pub padding: u64,
    pub bit_padding: u64,
    /// Members that end in padding of their own.
    pub paddings: u64,
    pub paddings_bytes: u64,
}

pub struct Form<'a> {
    pub parts: Vec<Part<'a>>,
    pub summary: Summary,
}

/// Where a bit-field is shown: the byte that its storage begins at, the bit in it, and the storage's bytes.
pub fn storage(types: &Types, member: &Member<TypeId>, bits: Bits) -> (u64, u64, u64) {
    let bytes = types.size_of(member.kind).filter(|bytes| *bytes > 0 && *bytes <= 16).unwrap_or(1);
    let begin = bits.first / (bytes * 8) * bytes;
    (begin, bits.first.saturating_sub(begin.saturating_mul(8)), bytes)
}

impl<'a> Form<'a> {
    pub fn new(types: &'a Types, record: &'a Record<TypeId>) -> Form<'a> {
        Form::after(types, record, 0)
    }

    /// Of a variant: after the bytes that tell which one it is.
    pub fn after(types: &'a Types, record: &'a Record<TypeId>, tag_bytes: u64) -> Form<'a> {
        let overlaps = record.keyword == Keyword::Union || record.variants.is_some();
        let mut members: Vec<&Member<TypeId>> = record.members.iter().collect();
        // Rust's compiler and packed bases reorder; a stable sort keeps what shares its place as the source has it.
        members.sort_by_key(|member| start(member));
        let mut form = Form { parts: Vec::with_capacity(members.len()), summary: Summary::default() };
        let mut paddings: HashMap<TypeId, u64> = HashMap::new();
        let mut end = End { used: tag_bytes.saturating_mul(8), storage: 0 };
        for member in members {
            let hole = if overlaps { Hole::default() } else { end.hole(start(member)) };
            end.pass(types, member);
            let padding = *paddings.entry(member.kind).or_insert_with(|| padding(types, member));
            form.add(member, hole, padding);
        }
        if !overlaps {
            form.close(record.size, &end);
        }
        form
    }

    fn add(&mut self, member: &'a Member<TypeId>, hole: Hole, padding: u64) {
        let sum = &mut self.summary;
        sum.members += 1;
        match member.bits {
            Some(bits) => sum.bitfield_bits = sum.bitfield_bits.saturating_add(bits.count),
            None => sum.member_bytes = sum.member_bytes.saturating_add(member.size.unwrap_or(0)),
        }
        sum.holes += u64::from(hole.bytes > 0);
        sum.hole_bytes = sum.hole_bytes.saturating_add(hole.bytes);
        sum.bit_holes += u64::from(hole.bits > 0);
        sum.bit_hole_bits = sum.bit_hole_bits.saturating_add(hole.bits);
        sum.paddings += u64::from(padding > 0);
        sum.paddings_bytes = sum.paddings_bytes.saturating_add(padding);
        self.parts.push(Part { member, hole, padding });
    }

    fn close(&mut self, size: u64, end: &End) {
        if self.parts.is_empty() {
            return;
        }
        let rest = end.hole(size.saturating_mul(8));
        (self.summary.padding, self.summary.bit_padding) = (rest.bytes, rest.bits);
    }
}

/// In bits.
fn start(member: &Member<TypeId>) -> u64 {
    member.bits.map_or(member.offset.saturating_mul(8), |bits| bits.first)
}

/// How far the structure is used, in bits, and where the storage of the bit-fields there ends.
#[derive(Default)]
struct End {
    used: u64,
    storage: u64,
}

impl End {
    fn hole(&self, next: u64) -> Hole {
        let gap = next.saturating_sub(self.used);
        let inside = self.storage.min(next).saturating_sub(self.used);
        // Whole bytes of a storage unit that the next member does not begin in are bytes that padding would fill.
        let rest = gap - inside;
        Hole { bits: inside + rest % 8, bytes: rest / 8 }
    }

    fn pass(&mut self, types: &Types, member: &Member<TypeId>) {
        let (end, storage) = match member.bits {
            Some(bits) => {
                let (begin, _, bytes) = storage(types, member, bits);
                (bits.first.saturating_add(bits.count), (begin.saturating_add(bytes)).saturating_mul(8))
            }
            None => (member.end().saturating_mul(8), 0),
        };
        if end >= self.used {
            (self.used, self.storage) = (end, storage);
        }
    }
}

/// What the member's own structure leaves free at its end.
fn padding(types: &Types, member: &Member<TypeId>) -> u64 {
    let Some(record) = types.record(member.kind) else {
        return 0;
    };
    if record.keyword == Keyword::Union || record.variants.is_some() || record.members.is_empty() {
        return 0;
    }
    let mut end = End::default();
    record.members.iter().for_each(|member| end.pass(types, member));
    end.hole(record.size.saturating_mul(8)).bytes
}
