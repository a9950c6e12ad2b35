// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures and arrays of them as JSON documents, for other tools.
use super::form::Form;
use super::leaves::Leaf;
use super::look::{Look, counted_lines};
use super::slots_text::Slots;
use crate::style::escaped;
use corefold_dwarf::{Kind, Member, Record, Role, Structure, TypeId, Types};
use serde::Serialize;

/// Of the documents' shape: increments when a key changes or goes.
pub(super) const SCHEMA: u32 = 1;
/// Structures in structures deeper than this are circles; more members than these of types that contain each other many times.
const DEEPEST: usize = 24;
const MOST_MEMBERS: usize = 20_000;

#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    line_size: u64,
    structures: Vec<T>,
    /// What could not be read, each with its offset.
    damage: &'a [String],
}

#[derive(Serialize)]
struct StructureOut<'a> {
    name: &'a str,
    kind: &'static str,
    typedef: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    size: u64,
    cachelines: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    align: Option<u64>,
    members: Vec<MemberOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variants: Vec<VariantOut>,
    holes: u64,
    hole_bytes: u64,
    bit_holes: u64,
    bit_hole_bits: u64,
    padding: u64,
    bit_padding: u64,
    paddings: u64,
    paddings_bytes: u64,
}

#[derive(Serialize)]
struct MemberOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(rename = "type")]
    type_name: String,
    role: &'static str,
    /// From the outermost structure's start.
    offset: u64,
    /// `None`: a flexible array.
    size: Option<u64>,
    /// Of a bit-field: from the outermost structure's start, and how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    hole_before: u64,
    #[serde(skip_serializing_if = "is_zero")]
    bit_hole_before: u64,
    cacheline: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<MemberOut>,
}

#[derive(Serialize)]
struct VariantOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<u64>,
    members: Vec<MemberOut>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn document<T: Serialize>(structures: Vec<T>, damage: &[String], look: &Look) -> String {
    let document = Document { schema: SCHEMA, line_size: look.line, structures, damage };
    let mut text = escaped(&serde_json::to_string_pretty(&document).expect("strings, numbers and lists"));
    text.push('\n');
    text
}

pub fn structures(types: &Types, found: &[&Structure], look: &Look) -> String {
    let shown = found.iter().filter_map(|structure| structure_out(types, structure, look));
    document(shown.collect(), types.damage(), look)
}

fn structure_out<'a>(types: &'a Types, structure: &'a Structure, look: &Look) -> Option<StructureOut<'a>> {
    let record = types.record(structure.id)?;
    let mut walk = Walk { types, look, left: MOST_MEMBERS.max(2 * record.members.len()) };
    let sum = Form::new(types, record).summary;
    let variants = record.variants.iter().flat_map(|variants| &variants.list).map(|variant| VariantOut {
        tag: variant.value,
        members: variant.members.iter().map(|member| walk.variant(member)).collect(),
    });
    let variants = variants.collect();
    let mut members = walk.members(record, 0, 0);
    if let Some(tag) = record.variants.as_ref().and_then(|variants| variants.tag.as_ref()) {
        let mut tag = walk.member(tag, 0, DEEPEST);
        tag.role = "tag";
        members.push(tag);
    }
    Some(StructureOut {
        name: &structure.name,
        kind: record.keyword.text(),
        typedef: structure.is_typedef,
        unit: structure.unit.as_deref(),
        size: record.size,
        cachelines: counted_lines(record.size, look.line),
        align: record.align,
        members,
        variants,
        holes: sum.holes,
        hole_bytes: sum.hole_bytes,
        bit_holes: sum.bit_holes,
        bit_hole_bits: sum.bit_hole_bits,
        padding: sum.padding,
        bit_padding: sum.bit_padding,
        paddings: sum.paddings,
        paddings_bytes: sum.paddings_bytes,
    })
}

struct Walk<'a> {
    types: &'a Types,
    look: &'a Look,
    left: usize,
}

impl Walk<'_> {
    fn members(&mut self, record: &Record<TypeId>, base: u64, depth: usize) -> Vec<MemberOut> {
        let form = Form::new(self.types, record);
        let mut out = Vec::new();
        for part in &form.parts {
            self.left = match self.left.checked_sub(1) {
                Some(left) => left,
                None => break,
            };
            let mut member = self.member(part.member, base, depth);
            (member.hole_before, member.bit_hole_before) = (part.hole.bytes, part.hole.bits);
            out.push(member);
        }
        out
    }

    fn member(&mut self, member: &Member<TypeId>, base: u64, depth: usize) -> MemberOut {
        let offset = base.saturating_add(member.offset);
        let types = self.types;
        let kind = if self.look.expand { types.strip(member.kind).unwrap_or(member.kind) } else { member.kind };
        let inner = match types.kind(kind) {
            Kind::Record { record, .. } if (record.name.is_none() || self.look.expand) && depth < DEEPEST => {
                self.members(record, offset, depth + 1)
            }
            _ => Vec::new(),
        };
        MemberOut {
            name: member.name.clone(),
            type_name: types.name(Some(member.kind)),
            role: match member.role {
                Role::Field => "field",
                Role::Base => "base",
                Role::Hidden => "hidden",
            },
            offset,
            size: member.size,
            first_bit: member.bits.map(|bits| base.saturating_mul(8).saturating_add(bits.first)),
            bits: member.bits.map(|bits| bits.count),
            hole_before: 0,
            bit_hole_before: 0,
            cacheline: offset / self.look.line,
            members: inner,
        }
    }

    /// With the fields of its structure, which is shown nowhere else.
    fn variant(&mut self, member: &Member<TypeId>) -> MemberOut {
        let types = self.types;
        let mut out = self.member(member, 0, DEEPEST);
        if let Some(record) = types.record(member.kind) {
            out.members = self.members(record, member.offset, 1);
        }
        out
    }
}

#[derive(Serialize)]
struct SlotsOut<'a> {
    name: &'a str,
    stride: u64,
    /// Of a slab.
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<u64>,
    slots: Vec<SlotOut>,
    fields: Vec<FieldOut<'a>>,
    pairs: Vec<PairOut<'a>>,
}

#[derive(Serialize)]
struct SlotOut {
    offset: u64,
    objects: u64,
}

#[derive(Serialize)]
struct FieldOut<'a> {
    path: &'a str,
    offset: u64,
    size: u64,
    /// Its first line in each slot, counted from that which the object begins on.
    lines: Vec<u64>,
}

#[derive(Serialize)]
struct PairOut<'a> {
    fields: [&'a str; 2],
    slots: &'a [u64],
    objects: u64,
    share: f64,
}

pub fn slots(found: &[(&Structure, Slots)], damage: &[String], look: &Look) -> String {
    document(found.iter().map(|(structure, slots)| slots_out(structure, slots)).collect(), damage, look)
}

fn slots_out<'a>(structure: &'a Structure, slots: &'a Slots) -> SlotsOut<'a> {
    let rows = &slots.rows;
    let each = 0..rows.period();
    let field = |leaf: &'a Leaf| FieldOut {
        path: &leaf.path,
        offset: leaf.offset,
        size: leaf.size,
        lines: each.clone().map(|slot| leaf.lines(rows.offset(slot), rows.line).0).collect(),
    };
    let path = |field: usize| slots.fields[field].path.as_str();
    SlotsOut {
        name: &structure.name,
        stride: rows.stride,
        objects: rows.objects,
        slots: each.clone().map(|slot| SlotOut { offset: rows.offset(slot), objects: rows.count(slot) }).collect(),
        fields: slots.fields.iter().map(field).collect(),
        pairs: slots
            .pairs
            .iter()
            .map(|pair| PairOut {
                fields: [path(pair.fields.0), path(pair.fields.1)],
                slots: &pair.slots,
                objects: pair.objects,
                share: pair.objects as f64 / rows.objects() as f64,
            })
            .collect(),
    }
}
