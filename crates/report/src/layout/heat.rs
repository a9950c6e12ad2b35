// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stall and spin of a recording, by structure and field.
use super::leaves::leaves;
use corefold_dwarf::{Kind, Record, TypeId, Types};
use corefold_explain::Explained;
use std::collections::HashMap;

/// Shares of all stall and spin of a run.
#[derive(Debug, Default)]
pub struct Heat {
    /// By structure and path of the field in it.
    shares: HashMap<(String, String), f64>,
    /// Of objects that are arrays of a structure.
    elements: HashMap<String, f64>,
    /// Structures that were looked into, of one field: types that contain each other many times have no end.
    visited: usize,
}

/// Structures in structures deeper than this are circles.
const DEEPEST: usize = 24;
const MOST: usize = 100;

impl Heat {
    /// `types`: of the program that was recorded.
    pub fn new(run: &Explained, types: &Types) -> Heat {
        let cost = |stall: u64, spin: u64| (stall + spin) as f64;
        let all: f64 = run.lines.iter().map(|line| cost(line.stall, line.spin)).sum();
        let by_name: HashMap<&str, TypeId> = types.structures().iter().map(|s| (s.name.as_str(), s.id)).collect();
        let mut heat = Heat::default();
        for line in &run.lines {
            for field in &line.fields {
                let object = field.object.and_then(|object| line.objects.get(object));
                let name = object.and_then(|object| structure_name(object.type_name.as_deref()?));
                let Some(record) = name.and_then(|name| types.record(*by_name.get(name)?)) else {
                    continue;
                };
                let share = cost(field.stall, field.spin) / all.max(1.0);
                if share > 0.0 && record.size > 0 {
                    let bytes = object.map_or(0, |object| object.bytes);
                    if let (Some(name), true) = (&record.name, bytes >= 2 * record.size) {
                        *heat.elements.entry(name.clone()).or_default() += share;
                    }
                    let offset = field.offset_in_object % record.size;
                    heat.visited = 0;
                    heat.add(types, record, (offset, field.size), share, DEEPEST);
                }
            }
        }
        heat
    }

    /// To the structure's fields, and to those of the structures inside that the bytes are in.
    fn add(&mut self, types: &Types, record: &Record<TypeId>, bytes: (u64, u64), share: f64, depth: usize) {
        let end = bytes.0.saturating_add(bytes.1.max(1));
        if let Some(name) = &record.name {
            let met = leaves(types, record);
            let met = met.into_iter().filter(|l| l.offset < end && bytes.0 < l.offset.saturating_add(l.size));
            for leaf in met {
                *self.shares.entry((name.clone(), leaf.path)).or_default() += share;
            }
        }
        let around = record.all_members().filter(|m| m.holds(bytes.0, bytes.1));
        for member in around {
            let inner = types.strip(member.kind).map(|id| types.kind(id));
            if let (Some(Kind::Record { record, .. }), true) = (inner, depth > 0 && self.visited < MOST) {
                self.visited += 1;
                self.add(types, record, (bytes.0 - member.offset, bytes.1), share, depth - 1);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    pub fn of_field(&self, structure: &str, field: &str) -> f64 {
        self.shares.get(&(structure.to_owned(), field.to_owned())).copied().unwrap_or(0.0)
    }

    pub fn of_elements(&self, structure: &str) -> f64 {
        self.elements.get(structure).copied().unwrap_or(0.0)
    }

    /// Of two fields that are both used; a line that only one of them is used on costs nothing for the other.
    pub fn of_pair(&self, structure: &str, fields: &(String, String)) -> f64 {
        match (self.of_field(structure, &fields.0), self.of_field(structure, &fields.1)) {
            (a, b) if a > 0.0 && b > 0.0 => a + b,
            _ => 0.0,
        }
    }
}

/// `inode` of `struct inode[80]` and of `inode (shared)`; nothing for a pointer.
fn structure_name(type_name: &str) -> Option<&str> {
    let name = type_name.split_once('[').map_or(type_name, |(name, _)| name);
    let name = name.strip_suffix(" (shared)").unwrap_or(name);
    let keywords = ["const ", "volatile ", "struct ", "union ", "class ", "enum "];
    let name = keywords.iter().fold(name, |name, keyword| name.strip_prefix(keyword).unwrap_or(name));
    (!name.ends_with('*')).then_some(name)
}
