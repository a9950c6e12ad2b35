// SPDX-License-Identifier: MIT OR Apache-2.0
//! Of many objects, whose lines each CPU fetches once: the hot fields together, apart from the cold ones.
use super::candidate::Candidate;
use super::order::Reorder;
use super::reorder::Used;
use super::unit::{LEAST, Part, Unit};
use crate::hot::writes;
use crate::units;
use corefold_explain::{Explained, FieldUse, ObjectUse, Storage, one_name};
use corefold_recording::Time;
use std::collections::BTreeMap;

/// A field is hot if it has this share of the stall for such objects, or of the transfers.
const HOT: f64 = 0.05;
/// Bytes of a line where no line was contended.
const LINE_BYTES: u64 = 64;

/// A field that was touched first on lines of such objects, and whether it was written.
type Use<'a> = (&'a ObjectUse, &'a FieldUse, bool);

pub fn hot_together(explained: &Explained) -> Vec<Candidate> {
    let Time { compute, stall, spin, .. } = explained.run.time;
    let mut all: BTreeMap<&str, Vec<Use>> = BTreeMap::new();
    for entry in &explained.passed {
        for (object, field) in &entry.fields {
            let is_placed = matches!(object.storage, Storage::Heap | Storage::Slab | Storage::Global);
            if is_placed && object.bytes > 0 && field.size > 0 && !field.name.starts_with('+') {
                all.entry(&object.name).or_default().push((object, field, writes(entry.kind)));
            }
        }
    }
    let cost = |uses: &[Use]| uses.iter().map(|(_, field, _)| field.stall).sum::<u64>();
    let mut all: Vec<_> = all.into_values().map(|uses| (cost(&uses), uses)).collect();
    all.retain(|(cost, _)| units::share(*cost, compute + stall + spin) >= LEAST);
    all.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    all.iter().filter_map(|(_, uses)| hot_of(explained, uses)).collect()
}

fn hot_of(explained: &Explained, uses: &[Use]) -> Option<Candidate> {
    let unit = unit_of(explained, uses)?;
    let sum = |of: fn(&Part) -> u64| unit.parts.values().map(of).sum::<u64>();
    let (cost, transfers) = (sum(|part| part.cost), sum(|part| part.transfers));
    // What follows a pointer waits for the line that the pointer was on.
    let share = |part: &Part| units::share(part.cost, cost).max(units::share(part.transfers, transfers));
    let is_hot = |(_, part): &(&u64, &Part)| share(part) >= HOT;
    let hot: Vec<(&u64, &Part)> = unit.parts.iter().filter(is_hot).collect();
    let steps: Vec<Used> = hot.iter().map(|(from, part)| unit.step(**from, part.bytes)).collect::<Option<_>>()?;
    let [first, others @ ..] = &steps[..] else { return None };
    let on_one_line = |from, end| {
        let (first, last) = unit.lines(from, end);
        first == last
    };
    let bytes: u64 = steps.iter().map(|step| step.end - step.from).sum();
    if others.is_empty() || on_one_line(first.from, steps[steps.len() - 1].end) || bytes > unit.line_bytes {
        return None;
    }
    let ranges = others.iter().map(|step| (step.from, step.end - step.from)).collect();
    let names: Vec<String> = hot.iter().map(|(_, part)| unit.name(part)).collect();
    let names = one_name(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let layout = format!("hot fields {names} together, apart from cold ones");
    unit.reordered(Reorder { ranges, before: first.end }, layout)
}

/// The object or, of an array, its element.
fn unit_of<'a>(explained: &Explained, uses: &[Use<'a>]) -> Option<Unit<'a>> {
    let (object, ..) = uses.first()?;
    let element = |(object, field, _): &Use| {
        let element = field.elements.first().filter(|element| element.of_object)?;
        let index = (element.address - object.address).checked_div(element.size)?;
        element.name.ends_with(&format!("[{index}]")).then_some(element.size)
    };
    let first = uses.first().and_then(element);
    let stride = first.filter(|size| uses.iter().all(|one| element(one) == Some(*size))).unwrap_or(object.bytes);
    let mut parts: BTreeMap<u64, Part> = BTreeMap::new();
    for (_, field, written) in uses {
        let part = parts.entry(field.offset_in_object % stride).or_default();
        part.names.push(field.name.clone());
        part.bytes = part.bytes.max(field.size).min(stride);
        part.cost += field.stall;
        part.transfers += field.transfers;
        part.written |= written;
    }
    // What takes lines from others is written, wherever that was recorded.
    let lines = explained.lines.iter().flat_map(|line| line.fields.iter().map(move |field| (line, field)));
    let own = lines.filter(|(line, field)| {
        field.writers > 0 && field.object.and_then(|at| line.objects.get(at)).is_some_and(|of| of.name == object.name)
    });
    let mut written: Vec<(u64, u64)> =
        own.map(|(_, field)| (field.offset_in_object % stride, field.offset_in_object % stride + field.size)).collect();
    written.sort_unstable();
    written.dedup();
    let line_bytes = explained.lines.first().map_or(LINE_BYTES, |line| u64::from(line.bytes));
    Some(Unit { object, line_bytes, stride, parts, written, astride: false })
}

#[cfg(test)]
mod tests;
