// SPDX-License-Identifier: MIT OR Apache-2.0
//! An array of structures in words and tables: where each slot begins on a line, on which line of its object each
//! field is, and which pairs of fields share one.
use super::glob;
use super::leaves::{Leaf, leaves};
use super::look::Look;
use super::slots::{Pair, Rows, Stride, pairs};
use crate::style::{Style, visible, wrap};
use crate::table::{Align, Table};
use corefold_dwarf::{Structure, Types};

/// Tables with more columns of slots are too wide.
const MOST_COLUMNS: u64 = 16;
/// Pairs shown where no fields were asked for.
const MOST_PAIRS: usize = 40;

/// What is asked of a structure in an array.
#[derive(Clone, Debug, PartialEq)]
pub struct InArray<'a> {
    pub stride: Stride,
    /// Globs of paths; all fields, if there are none.
    pub fields: &'a [String],
}

pub struct Slots {
    pub rows: Rows,
    pub fields: Vec<Leaf>,
    pub pairs: Vec<Pair>,
}

impl Slots {
    /// An error says why the structure cannot lie so.
    pub fn new(types: &Types, structure: &Structure, look: &Look, array: &InArray<'_>) -> Result<Slots, String> {
        let record = types.record(structure.id).ok_or("it has no members")?;
        let rows = Rows::new(array.stride, record.size, look.line)?;
        let mut fields = leaves(types, record);
        let is_missing = |pattern: &&String| !fields.iter().any(|leaf| fits(leaf, pattern));
        if let Some(missing) = array.fields.iter().find(is_missing) {
            return Err(format!("it has no field {missing}"));
        }
        fields.retain(|leaf| wanted(leaf, array.fields));
        let pairs = pairs(&rows, &fields);
        Ok(Slots { rows, fields, pairs })
    }
}

/// `count` means each field of that name, and all of its fields if it is a structure; `i_data.*` all of a structure's.
pub fn wanted(leaf: &Leaf, patterns: &[String]) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| fits(leaf, pattern))
}

fn fits(leaf: &Leaf, pattern: &str) -> bool {
    let ends = leaf.path.match_indices('.').map(|(at, _)| at).chain([leaf.path.len()]);
    let (mut within, inner) = (ends.map(|end| &leaf.path[..end]), format!("*.{pattern}"));
    within.any(|path| glob::matches(pattern, path) || glob::matches(&inner, path))
}

/// `asked`: the fields are those that were asked for.
pub fn text(types: &Types, structure: &Structure, slots: &Slots, look: &Look, asked: bool) -> String {
    let size = types.record(structure.id).map_or(0, |record| record.size);
    let style = Style { color: false };
    let mut out = format!("{}: {}\n", visible(&structure.name), placement(&slots.rows, size));
    out += &wrap(&repeat(&slots.rows), look.width, 2);
    if slots.rows.period() <= MOST_COLUMNS {
        out +=
            "\n  Line of its object that a field begins on, by slot (two fields with the same number share a line)\n";
        out += &lines_table(slots).print(look.width, style);
    }
    out + &pairs_text(slots, look, asked)
}

fn placement(rows: &Rows, size: u64) -> String {
    let within = match rows.objects {
        Some(objects) => format!("a slab of {objects} objects"),
        None => "an array".to_owned(),
    };
    format!("{size} bytes, in {within}, one every {} bytes, lines of {} bytes", rows.stride, rows.line)
}

fn repeat(rows: &Rows) -> String {
    let period = rows.period();
    match (period, rows.objects) {
        (1, _) => "All objects begin at the same place on a line.".to_owned(),
        (period, Some(objects)) => format!(
            "Slot: number of the object in its slab, modulo {period}; {objects} objects make {} of the first slot and {} of \
             the last.",
            rows.count(0),
            rows.count(period - 1)
        ),
        (period, None) => format!("Slot: index of the object, modulo {period}; then its place on a line repeats."),
    }
}

fn lines_table(slots: &Slots) -> Table {
    let period = slots.rows.period();
    let names: Vec<String> = (0..period).map(|slot| format!("slot {slot}")).collect();
    let mut columns = vec![("offset", Align::Right), ("field", Align::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    let mut table = Table::new(&columns, &[1]);
    let mut begins = vec![String::new(), "(begins on its line at)".to_owned()];
    begins.extend((0..period).map(|slot| format!("+{}", slots.rows.offset(slot))));
    table.row(begins);
    for leaf in &slots.fields {
        let line = |slot: u64| match leaf.lines(slots.rows.offset(slot), slots.rows.line) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        let mut row = vec![leaf.offset.to_string(), visible(&leaf.path)];
        row.extend((0..period).map(line));
        table.row(row);
    }
    table
}

/// `4 of 8 slots (50%)`; of a slab, its objects are counted.
pub fn share_words(rows: &Rows, slots: usize, objects: u64) -> String {
    let percent = 100.0 * objects as f64 / rows.objects() as f64;
    match rows.objects {
        None => format!("{slots} of {} slots ({percent:.0}%)", rows.period()),
        Some(all) => format!("{objects} of {all} objects ({percent:.0}%)"),
    }
}

/// `0-2,5`; `none` and `all` where that says it.
pub fn slot_list(slots: &[u64], period: u64) -> String {
    match slots.len() as u64 {
        0 => return "none".to_owned(),
        count if count == period => return "all".to_owned(),
        _ => {}
    }
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for slot in slots {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *slot => *last = *slot,
            _ => runs.push((*slot, *slot)),
        }
    }
    let run = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

fn pairs_text(slots: &Slots, look: &Look, asked: bool) -> String {
    let period = slots.rows.period();
    // Pairs that share a line in all slots, or in none, are the same wherever the object lies.
    let varies = |pair: &&Pair| asked || (pair.slots.len() as u64) < period;
    let shown: Vec<&Pair> = slots.pairs.iter().filter(varies).collect();
    if shown.is_empty() {
        let always = if asked {
            "No two of these fields share a line in any slot."
        } else {
            "Which fields share a line does not depend on the slot."
        };
        return format!("\n  {always}\n");
    }
    let (some, more) = shown.split_at(if asked { shown.len() } else { shown.len().min(MOST_PAIRS) });
    let columns =
        [("fields", Align::Left), ("share a line in", Align::Left), ("slots", Align::Left), ("apart in", Align::Left)];
    let mut table = Table::new(&columns, &[0]);
    for pair in some {
        let name = |field: usize| visible(&slots.fields[field].path);
        let apart: Vec<u64> = (0..period).filter(|slot| !pair.slots.contains(slot)).collect();
        table.row(vec![
            format!("{}, {}", name(pair.fields.0), name(pair.fields.1)),
            share_words(&slots.rows, pair.slots.len(), pair.objects),
            slot_list(&pair.slots, period),
            slot_list(&apart, period),
        ]);
    }
    let head = if asked { "Pairs of fields" } else { "Pairs of fields that share a line in some slots only" };
    let rest = match more.len() {
        0 => String::new(),
        count => format!("  … and {count} more; --fields LIST shows those of the fields named\n"),
    };
    let why = "How many slots follows from how far apart the two fields are; the object's size decides only which.";
    format!("\n  {head}\n{}{rest}{}", table.print(look.width, Style { color: false }), wrap(why, look.width, 2))
}
