// SPDX-License-Identifier: MIT OR Apache-2.0
//! What differs between two builds as a JSON document, for other tools.
use super::diff::{Change, Differences, PairChange};
use super::json::SCHEMA;
use super::leaves::Leaf;
use super::look::Look;
use crate::style::escaped;
use serde::Serialize;

#[derive(Serialize)]
struct DiffDocument<'a> {
    schema: u32,
    line_size: u64,
    compared: usize,
    changes: Vec<ChangeOut<'a>>,
    only_old: &'a [String],
    only_new: &'a [String],
}

#[derive(Serialize)]
struct ChangeOut<'a> {
    name: &'a str,
    old_size: u64,
    new_size: u64,
    old_stride: u64,
    new_stride: u64,
    /// Slots that the lists of pairs are of: numbers of objects modulo this.
    slots: u64,
    gone: Vec<&'a str>,
    added: Vec<&'a str>,
    moved: Vec<MovedOut<'a>>,
    pairs: Vec<PairChangeOut<'a>>,
    elements: Option<ElementsOut>,
    stall_share: f64,
}

#[derive(Serialize)]
struct ElementsOut {
    old_share: f64,
    new_share: f64,
    stall_share: f64,
}

#[derive(Serialize)]
struct MovedOut<'a> {
    path: &'a str,
    old_offset: u64,
    new_offset: u64,
    old_size: u64,
    new_size: u64,
    old_type: &'a str,
    new_type: &'a str,
}

#[derive(Serialize)]
struct PairChangeOut<'a> {
    fields: [&'a str; 2],
    old_slots: Vec<u64>,
    new_slots: Vec<u64>,
    together: Vec<u64>,
    apart: Vec<u64>,
    old_share: f64,
    new_share: f64,
    stall_share: f64,
}

pub fn differences(found: &Differences, look: &Look) -> String {
    let document = DiffDocument {
        schema: SCHEMA,
        line_size: look.line,
        compared: found.compared,
        changes: found.changes.iter().map(change_out).collect(),
        only_old: &found.gone,
        only_new: &found.added,
    };
    let mut text = escaped(&serde_json::to_string_pretty(&document).expect("strings, numbers and lists"));
    text.push('\n');
    text
}

fn change_out(change: &Change) -> ChangeOut<'_> {
    ChangeOut {
        name: &change.name,
        old_size: change.size.0,
        new_size: change.size.1,
        old_stride: change.rows.0.stride,
        new_stride: change.rows.1.stride,
        slots: change.slots(),
        gone: change.gone.iter().map(|leaf| leaf.path.as_str()).collect(),
        added: change.added.iter().map(|leaf| leaf.path.as_str()).collect(),
        moved: change.moved.iter().map(moved_out).collect(),
        pairs: change.pairs.iter().map(|pair| pair_out(change, pair)).collect(),
        elements: change.elements.map(|elements| ElementsOut {
            old_share: elements.old,
            new_share: elements.new,
            stall_share: elements.heat,
        }),
        stall_share: change.heat,
    }
}

fn moved_out((old, new): &(Leaf, Leaf)) -> MovedOut<'_> {
    MovedOut {
        path: &old.path,
        old_offset: old.offset,
        new_offset: new.offset,
        old_size: old.size,
        new_size: new.size,
        old_type: &old.type_name,
        new_type: &new.type_name,
    }
}

fn pair_out<'a>(change: &Change, pair: &'a PairChange) -> PairChangeOut<'a> {
    PairChangeOut {
        fields: [&pair.fields.0, &pair.fields.1],
        old_slots: pair.old.iter().copied().collect(),
        new_slots: pair.new.iter().copied().collect(),
        together: pair.together(),
        apart: pair.apart(),
        old_share: pair.objects.0 as f64 / change.rows.0.objects() as f64,
        new_share: pair.objects.1 as f64 / change.rows.1.objects() as f64,
        stall_share: pair.heat,
    }
}
