// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes of an object that different CPUs use, whatever its type says: an allocator of the program's own carves up one array of
//! bytes for several threads, and a structure has fields of several CPUs side by side.
use super::unit::ELEMENTS;
use crate::hot::{Group, writes};
use corefold_explain::{ObjectUse, SiteUse, Uses, one_name, users};
use corefold_recording::CpuSet;
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
    let (begin, used) =
        (all.values().filter_map(|ranges| ranges.first()), all.values().filter_map(|ranges| ranges.last()));
    let (begin, used) = (begin.map(|range| range.from).min()?, used.map(|range| range.end).max()?);
    let line = |offset: u64| (object.address + offset) / line_bytes * line_bytes;
    // A neighbour that finds the line there already is not recorded: the first and the last range take the rest of their lines
    // along.
    let begin = line(begin).saturating_sub(object.address);
    let end = (line(used - 1) + line_bytes - object.address).min(object.bytes);
    let inner = all.iter().flat_map(|(address, ranges)| ranges.windows(2).map(|w| w[0].cut(&w[1], *address)));
    let starts: BTreeSet<u64> = inner.chain([begin]).collect();
    let ends = starts.iter().copied().skip(1).chain([end]);
    let ranges: Vec<(u64, u64)> =
        starts.iter().zip(ends).map(|(from, end)| (*from, end.saturating_sub(*from))).collect();
    let sound = ranges.len() as u64 <= ELEMENTS && ranges.iter().all(|(_, bytes)| *bytes > 0);
    sound.then(|| Cuts { names: one_name(&names), ranges })
}

/// By the address of the object, ascending; and the names of the fields there.
fn ranges<'a>(group: &'a Group<'_>, name: &str) -> (BTreeMap<u64, Vec<Range<'a>>>, Vec<&'a str>) {
    let mut all: BTreeMap<u64, [Vec<Range>; 2]> = BTreeMap::new();
    let mut names = Vec::new();
    let weight = |site: &SiteUse| (site.stall + site.spin + site.transfers) as f64;
    let sites = || group.lines.iter().flat_map(|line| line.sites.iter().map(move |site| (line, site)));
    let most = sites().map(|(_, site)| weight(site)).fold(0.0, f64::max);
    for (line, site) in sites() {
        let Some(field) = line.fields.get(site.field_index).filter(|field| field.size > 0) else { continue };
        let Some(object) = field.object.and_then(|object| line.objects.get(object)) else { continue };
        if object.name == name {
            let is_rare = weight(site) < most * RARE;
            names.extend((!is_rare).then_some(field.name.as_str()));
            let (from, end) = (field.offset_in_object, field.offset_in_object + field.size);
            let (uses, written) = (vec![(weight(site), &site.cpus)], writes(site.kind));
            all.entry(object.address).or_default()[usize::from(is_rare)].push(Range { from, end, uses, written });
        }
    }
    let of_object = |(address, [mut often, rare]): (u64, [Vec<Range<'a>>; 2])| {
        often.sort_by_key(|range| (range.from, range.end));
        // First what accesses have bytes in common, then what the same CPUs use.
        often.dedup_by(|next, last| next.from < last.end && last.take(next));
        rare.iter().for_each(|access| extend(&mut often, access));
        often.dedup_by(|next, last| users(&next.uses) == users(&last.uses) && last.take(next));
        (address, often)
    };
    (all.into_iter().map(of_object).collect(), names)
}

/// A rare access is of the one range there whose CPUs made it; others, as those that set all up, are nobody's.
fn extend(ranges: &mut [Range<'_>], access: &Range<'_>) {
    let after = ranges.partition_point(|range| range.end <= access.from);
    let overlapped = ranges[after..].iter().take_while(|range| range.from < access.end).count();
    let there = match overlapped {
        0 => after.saturating_sub(1)..(after + 1).min(ranges.len()),
        _ => after..after + overlapped,
    };
    let its = users(&access.uses);
    let mut owners = there.clone().filter(|at| contains(&users(&ranges[*at].uses), &its));
    if let (Some(owner), None, true) = (owners.next(), owners.next(), overlapped < 2) {
        ranges[owner].from = ranges[owner].from.min(access.from);
        ranges[owner].end = ranges[owner].end.max(access.end);
    }
}

fn contains(all: &CpuSet, some: &CpuSet) -> bool {
    let mut both = all.clone();
    both.add(some);
    both == *all
}

impl Range<'_> {
    /// Takes the bytes of the next one, too.
    fn take(&mut self, next: &mut Self) -> bool {
        self.end = self.end.max(next.end);
        self.uses.append(&mut next.uses);
        self.written |= next.written;
        true
    }

    /// Where the next range begins: what lies between the two is the one's or the other's, and objects begin at round addresses.
    fn cut(&self, next: &Self, address: u64) -> u64 {
        let (first, last) = (address + self.end, address + next.from);
        let round = (0..u64::BITS).rev().map(|zeros| last >> zeros << zeros).find(|at| *at >= first);
        round.map_or(next.from, |at| at - address)
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
