// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is laid out anew: an object, or the elements of an array, and how its fields are used.
use crate::hot::{Group, writes};
use crate::units;
use corefold_explain::{FieldUse, HotLine, ObjectUse, one_name, pattern};
use std::collections::{BTreeMap, BTreeSet};

/// The least share of the CPU time that an object must be waited for.
pub const LEAST: f64 = 0.02;
/// Elements of an array within an object, at most.
pub const ELEMENTS: u64 = 1024;
/// Fields of one object, the most expensive, that are tried with padding before them, or moved.
pub const PADDED: usize = 2;
/// The least share of its object's wait, or transfers, that a field has which is tried apart from others.
pub const LEAST_OF_FIELD: f64 = 0.01;

/// A field of the unit that is laid out: of several objects or elements.
#[derive(Default)]
pub struct Part {
    pub names: Vec<String>,
    pub bytes: u64,
    pub written: bool,
    pub cost: u64,
    pub transfers: u64,
}

impl Part {
    /// One field, and not several that accesses span.
    pub fn is_one(&self) -> bool {
        self.names.iter().all(|name| pattern(name) == pattern(&self.names[0]) && !name.contains('…'))
    }
}

/// The unit: an object, or an element of the array that an object is.
pub struct Unit<'a> {
    pub object: &'a ObjectUse,
    pub line_bytes: u64,
    pub stride: u64,
    /// Fields by offset.
    pub parts: BTreeMap<u64, Part>,
    /// Offset and end of all that is stored to, ascending.
    pub written: Vec<(u64, u64)>,
    /// An object that does not begin on a line.
    pub astride: bool,
}

/// Its fields on these lines, with the object that each is of.
pub fn fields<'a>(group: &'a Group<'_>, name: &'a str) -> impl Iterator<Item = (&'a ObjectUse, &'a FieldUse)> {
    let of_line = |line: &'a HotLine| line.fields.iter().map(move |field| (line, field));
    let with_object = |(line, field): (&'a HotLine, &'a FieldUse)| Some((line.objects.get(field.object?)?, field));
    group.lines.iter().flat_map(move |line| of_line(line)).filter_map(with_object).filter(move |(o, _)| o.name == name)
}

/// The share of the wait for the object's fields, or of their transfers, that these have.
pub fn share_of(group: &Group<'_>, name: &str, which: impl Fn(&FieldUse) -> bool) -> f64 {
    let sum = |field: fn(&FieldUse) -> u64, which: &dyn Fn(&FieldUse) -> bool| -> u64 {
        fields(group, name).filter(|(_, f)| which(f)).map(|(_, f)| field(f)).sum()
    };
    let share = |of: fn(&FieldUse) -> u64| units::share(sum(of, &which), sum(of, &|_| true));
    share(|field| field.stall + field.spin).max(share(|field| field.transfers))
}

/// Offset and end of each field that is stored to, ascending, in a unit of so many bytes: also of those whose line is there
/// already whenever they are.
fn written(group: &Group<'_>, name: &str, stride: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for line in &group.lines {
        // Those that have taken the line from others are among the verdict's.
        let stores = |at: usize| {
            line.sites.iter().any(|site| site.field_index == at && writes(site.kind))
                || group.verdict.written.contains(&line.fields[at].name)
        };
        for (at, field) in line.fields.iter().enumerate().filter(|(_, field)| field.size > 0) {
            let object = field.object.and_then(|object| line.objects.get(object));
            if object.is_some_and(|object| object.name == name) && (field.writers > 0 || stores(at)) {
                let from = field.offset_in_object % stride;
                all.push((from, from + field.size));
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

impl<'a> Unit<'a> {
    pub fn new(object: &'a ObjectUse, group: &'a Group<'_>) -> Unit<'a> {
        let line_bytes = u64::from(group.hottest().bytes);
        // An array from its begin on, of which several elements are used: each is laid out alike. Accesses that span elements,
        // as who sets them up in a vectorised loop, are nothing to it as long as they cost nothing.
        let none = share_of(group, &object.name, |field| field.elements.is_empty()) < LEAST_OF_FIELD;
        let whole = fields(group, &object.name).filter(|(_, field)| !none || !field.elements.is_empty());
        let whole = whole.map(|(object, field)| (object.address, field.elements.first()));
        let mut strides = whole.map(|(begin, element)| {
            let element = element.filter(|element| element.of_object)?;
            let index = (element.address - begin).checked_div(element.size)?;
            (element.name.ends_with(&format!("[{index}]")) && (element.address - begin) == index * element.size)
                .then_some(element.size)
        });
        let first = strides.next().flatten();
        let alike = first.filter(|first| strides.all(|size| size == Some(*first)));
        let elements: BTreeSet<u64> = fields(group, &object.name)
            .filter_map(|(object, field)| Some(field.elements.first()?.address - object.address))
            .collect();
        let stride = alike.filter(|_| elements.len() > 1).unwrap_or(object.bytes);
        let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
        for (_, field) in fields(group, &object.name).filter(|(_, field)| field.size > 0) {
            let part = parts.entry(field.offset_in_object % stride).or_default();
            part.names.push(field.name.clone());
            part.bytes = part.bytes.max(field.size).min(stride);
            part.written |= field.writers > 0;
            part.cost += field.stall + field.spin;
            part.transfers += field.transfers;
        }
        // Who has read a sum once, after all was done, uses nothing. Who stores may wait for nothing, but others do for the line.
        let sum = |of: fn(&Part) -> u64| parts.values().map(of).sum::<u64>();
        let (cost, transfers) = (sum(|part| part.cost), sum(|part| part.transfers));
        parts.retain(|_, part| {
            units::share(part.cost, cost).max(units::share(part.transfers, transfers)) >= LEAST_OF_FIELD
        });
        let astride = fields(group, &object.name).any(|(object, _)| !object.address.is_multiple_of(line_bytes));
        let written = written(group, &object.name, stride);
        Unit { object, line_bytes, stride, parts, written, astride }
    }

    pub fn name(&self, part: &Part) -> String {
        one_name(&part.names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Each with its offset, those that cost most first.
    pub fn written_fields(&self) -> Vec<(u64, &Part)> {
        let all = self.parts.iter().map(|(offset, part)| (*offset, part));
        let mut written: Vec<(u64, &Part)> = all.filter(|(_, part)| part.written).collect();
        // One of an array's elements is no better than the others.
        let like = |part: &Part| {
            self.parts.values().filter(|other| pattern(&other.names[0]) == pattern(&part.names[0])).count()
        };
        written.retain(|(_, part)| like(part) == 1 && part.is_one());
        written.sort_by_key(|(_, part)| std::cmp::Reverse((part.cost, part.transfers)));
        written
    }
}
