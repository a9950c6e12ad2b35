// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes of an object that different CPUs use, whatever its type says: an allocator of the program's own carves up one array of
//! bytes for several threads, and a structure has fields of several CPUs side by side.
use super::propose::ELEMENTS;
use crate::hot::{Group, writes};
use corefold_explain::{ObjectUse, Uses, one_name, users};
use std::collections::{BTreeMap, BTreeSet};

/// Accesses that cost less than this share of the most expensive ones say nothing on who uses a place.
const RARE: f64 = 0.01;

/// Where an object is to be cut.
pub struct Cuts {
    /// What is used there.
    pub names: String,
    /// Offset and bytes of each range, ascending and without gaps.
    pub ranges: Vec<(u64, u64)>,
}

/// Adjacent bytes that the same CPUs use.
struct Range<'a> {
    from: u64,
    end: u64,
    uses: Uses<'a>,
    written: bool,
}

/// Of all objects of that name, which have one layout; none where no line has bytes that one CPU uses beside those of another.
pub fn cuts(group: &Group<'_>, object: &ObjectUse, line_bytes: u64) -> Option<Cuts> {
    let (all, names) = ranges(group, &object.name);
    let beside =
        |(address, ranges): (&u64, &Vec<Range>)| ranges.windows(2).any(|w| w[0].disturbs(&w[1], *address, line_bytes));
    if !all.iter().any(beside) {
        return None;
    }
    let begin = all.values().filter_map(|ranges| Some(ranges.first()?.from)).min()?;
    let used = all.values().filter_map(|ranges| Some(ranges.last()?.end)).max()?;
    // A neighbour that finds the line there already is not recorded: the last range takes the rest of its line along.
    let end = ((object.address + used).next_multiple_of(line_bytes) - object.address).min(object.bytes);
    let inner = all.values().flat_map(|ranges| ranges.iter().skip(1)).map(|range| range.from);
    let starts: BTreeSet<u64> = inner.chain([begin]).collect();
    let ends = starts.iter().copied().skip(1).chain([end]);
    let ranges: Vec<(u64, u64)> =
        starts.iter().zip(ends).map(|(from, end)| (*from, end.saturating_sub(*from))).collect();
    let sound = ranges.len() as u64 <= ELEMENTS && ranges.iter().all(|(_, bytes)| *bytes > 0);
    sound.then(|| Cuts { names: one_name(&names), ranges })
}

/// By the address of the object, ascending; and the names of the fields there.
fn ranges<'a>(group: &'a Group<'_>, name: &str) -> (BTreeMap<u64, Vec<Range<'a>>>, Vec<&'a str>) {
    let mut all: BTreeMap<u64, Vec<Range>> = BTreeMap::new();
    let mut names = Vec::new();
    let weight = |site: &corefold_explain::SiteUse| (site.stall + site.spin + site.transfers) as f64;
    let sites = || group.lines.iter().flat_map(|line| line.sites.iter().map(move |site| (line, site)));
    let most = sites().map(|(_, site)| weight(site)).fold(0.0, f64::max);
    for (line, site) in sites().filter(|(_, site)| weight(site) > 0.0 && weight(site) >= most * RARE) {
        let Some(field) = line.fields.get(site.field_index).filter(|field| field.size > 0) else { continue };
        let Some(object) = field.object.and_then(|object| line.objects.get(object)) else { continue };
        if object.name == name {
            names.push(field.name.as_str());
            let (from, end) = (field.offset_in_object, field.offset_in_object + field.size);
            let uses = vec![(weight(site), &site.cpus)];
            all.entry(object.address).or_default().push(Range { from, end, uses, written: writes(site.kind) });
        }
    }
    for ranges in all.values_mut() {
        ranges.sort_by_key(|range| (range.from, range.end));
        // First what accesses have bytes in common, then what the same CPUs use.
        ranges.dedup_by(|next, last| next.from < last.end && last.take(next));
        ranges.dedup_by(|next, last| users(&next.uses) == users(&last.uses) && last.take(next));
    }
    (all, names)
}

impl Range<'_> {
    /// Takes the bytes of the next one, too.
    fn take(&mut self, next: &mut Self) -> bool {
        self.end = self.end.max(next.end);
        self.uses.append(&mut next.uses);
        self.written |= next.written;
        true
    }

    /// Do other CPUs use the next range, on the same line, and does one of them write?
    fn disturbs(&self, next: &Self, address: u64, line_bytes: u64) -> bool {
        let line = |offset: u64| (address + offset) / line_bytes;
        line(self.end - 1) == line(next.from)
            && (self.written || next.written)
            && !users(&self.uses).meets(&users(&next.uses))
    }
}

#[cfg(test)]
mod tests;
