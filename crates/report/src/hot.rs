// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hot lines, brought together by the object that they belong to.
//!
//! An array of per-CPU counters that share lines by mistake lies on ten lines, and is one mistake: its
//! lines are one row of the report, with the places that touch them added up.
use crate::place::in_program;
use corefold_explain::{Explained, HotLine, Place, SiteUse, Storage};
use corefold_recording::{AccessKind, CLASSES};
use std::collections::HashMap;

/// The hot lines of one object, or of like objects from one allocation site.
#[derive(Debug)]
pub struct Group<'a> {
    /// The hottest first.
    pub lines: Vec<&'a HotLine>,
    pub stall: u64,
    pub spin: u64,
    pub transfers: u64,
    pub transfers_by_class: [u64; CLASSES],
    /// The most CPUs that touched one of the lines.
    pub cpus: u32,
    /// By cycles, the most first.
    pub sites: Vec<Spot<'a>>,
}

impl<'a> Group<'a> {
    pub fn hottest(&self) -> &'a HotLine {
        self.lines[0]
    }

    /// Cycles that CPUs waited for these lines.
    pub fn wait(&self) -> u64 {
        self.stall + self.spin
    }

    /// Whether one of the lines holds the byte at `address`.
    pub fn holds(&self, address: u64) -> bool {
        self.lines.iter().any(|l| (l.address..l.address + u64::from(l.bytes)).contains(&address))
    }
}

/// A source line that touches a group, over all its lines and fields.
#[derive(Debug)]
pub struct Spot<'a> {
    pub place: Place,
    pub kind: AccessKind,
    pub fields: Vec<&'a str>,
    pub transfers: u64,
    pub stall: u64,
    pub spin: u64,
    pub cpus: u32,
}

impl Spot<'_> {
    pub fn wait(&self) -> u64 {
        self.stall + self.spin
    }

    pub fn writes(&self) -> bool {
        matches!(self.kind, AccessKind::Write | AccessKind::AtomicStore | AccessKind::Rmw | AccessKind::SplitLock)
    }
}

/// The groups of a run, by cycles waited, the most first.
pub fn groups(explained: &Explained) -> Vec<Group<'_>> {
    let mut index = HashMap::new();
    let mut groups: Vec<Vec<&HotLine>> = Vec::new();
    for line in &explained.lines {
        let at = *index.entry(object_name(line)).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(line);
    }
    let mut groups: Vec<Group> = groups.into_iter().map(group).collect();
    groups.sort_by_key(|g| std::cmp::Reverse(g.wait()));
    groups
}

/// The object on the line that costs most; where nobody knows the objects every line is its own.
fn object_name(line: &HotLine) -> String {
    let mut costs = vec![0; line.objects.len()];
    for field in &line.fields {
        if let Some(cost) = field.object.and_then(|o| costs.get_mut(o)) {
            *cost += field.stall + field.spin;
        }
    }
    let dearest = (0..costs.len()).rev().max_by_key(|&o| costs[o]).map(|o| &line.objects[o]);
    match dearest.filter(|object| object.storage != Storage::Unknown) {
        Some(object) => object.name.clone(),
        None => format!("{:#x}", line.address),
    }
}

fn group(mut lines: Vec<&HotLine>) -> Group<'_> {
    lines.sort_by_key(|l| std::cmp::Reverse(l.stall + l.spin));
    let mut transfers_by_class = [0; CLASSES];
    for line in &lines {
        transfers_by_class.iter_mut().zip(line.transfers_by_class).for_each(|(sum, n)| *sum += n);
    }
    Group {
        stall: lines.iter().map(|l| l.stall).sum(),
        spin: lines.iter().map(|l| l.spin).sum(),
        transfers: lines.iter().map(|l| l.transfers).sum(),
        transfers_by_class,
        cpus: lines.iter().map(|l| l.cpus).max().unwrap_or(0),
        sites: spots(&lines),
        lines,
    }
}

fn spots<'a>(lines: &[&'a HotLine]) -> Vec<Spot<'a>> {
    let mut index = HashMap::new();
    let mut spots: Vec<Spot> = Vec::new();
    for site in lines.iter().flat_map(|l| &l.sites) {
        let (place, kind) = (in_program(site), site.kind);
        let at = *index.entry((place.clone(), kind as u8)).or_insert(spots.len());
        if at == spots.len() {
            spots.push(Spot { place, kind, fields: Vec::new(), transfers: 0, stall: 0, spin: 0, cpus: 0 });
        }
        spots[at].add(site);
    }
    spots.sort_by_key(|s| std::cmp::Reverse(s.wait()));
    spots
}

impl<'a> Spot<'a> {
    fn add(&mut self, site: &'a SiteUse) {
        if !self.fields.contains(&site.field.as_str()) {
            self.fields.push(&site.field);
        }
        self.transfers += site.transfers;
        self.stall += site.stall;
        self.spin += site.spin;
        self.cpus = self.cpus.max(site.cpus);
    }
}

/// Several names in one: `c.slot[0]`, `c.slot[7]` are `c.slot[0-7]`; unlike names are listed, two at
/// the most.
pub fn one_name(names: &[&str]) -> String {
    let mut merged: Vec<Name> = Vec::new();
    for name in names {
        let name = Name::parse(name);
        match merged.iter_mut().find(|m| m.text == name.text) {
            Some(same) => same.widen(&name),
            None => merged.push(name),
        }
    }
    let shown: Vec<String> = merged.iter().take(2).map(Name::to_string).collect();
    match merged.len() {
        0..=2 => shown.join(", "),
        more => format!("{}, and {} more", shown.join(", "), more - 2),
    }
}

/// The name without the indices: what elements of one array have in common.
pub fn pattern(name: &str) -> Vec<&str> {
    Name::parse(name).text
}

/// A field's name with its array indices apart.
struct Name<'a> {
    /// What stands between the indices.
    text: Vec<&'a str>,
    /// Least and greatest value of each.
    indices: Vec<(u64, u64)>,
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Name<'a> {
        let (mut text, mut indices, mut rest) = (Vec::new(), Vec::new(), name);
        let mut from = 0;
        while let Some(open) = rest[from..].find('[').map(|i| from + i + 1) {
            let digits = rest[open..].bytes().take_while(u8::is_ascii_digit).count();
            let close = open + digits;
            match rest[open..close].parse() {
                Ok(index) if rest[close..].starts_with(']') => {
                    text.push(&rest[..open]);
                    indices.push((index, index));
                    (rest, from) = (&rest[close..], 0);
                }
                _ => from = open,
            }
        }
        text.push(rest);
        Name { text, indices }
    }

    fn widen(&mut self, other: &Name) {
        for (mine, theirs) in self.indices.iter_mut().zip(&other.indices) {
            *mine = (mine.0.min(theirs.0), mine.1.max(theirs.1));
        }
    }
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (text, (least, most)) in self.text.iter().zip(&self.indices) {
            match least == most {
                true => write!(f, "{text}{least}")?,
                false => write!(f, "{text}{least}-{most}")?,
            }
        }
        f.write_str(self.text[self.indices.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{hot_line, run};

    #[test]
    fn array_indices_become_ranges() {
        assert_eq!(one_name(&["c.slot[3].n", "c.slot[0].n", "c.slot[7].n"]), "c.slot[0-7].n");
        assert_eq!(one_name(&["a[1][2]", "a[1][5]"]), "a[1][2-5]");
        assert_eq!(one_name(&["a[1]"]), "a[1]");
        assert_eq!(one_name(&["map[key]", "x[", "+0x8"]), "map[key], x[, and 1 more");
        assert_eq!(one_name(&["lock", "count"]), "lock, count");
    }

    #[test]
    fn lines_of_one_object_are_one_group() {
        let mut run = run(4);
        run.lines = vec![hot_line(0x1000, "other", 50), hot_line(0x2000, "pcc", 30), hot_line(0x2040, "pcc", 40)];
        let groups = groups(&run);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].wait(), 70);
        assert_eq!(groups[0].hottest().address, 0x2040);
        assert!(groups[0].holds(0x207f) && !groups[0].holds(0x2080));
        assert_eq!(groups[0].sites.len(), 1, "one source line, however many cache lines");
        assert_eq!(groups[0].sites[0].stall, 70);
        assert_eq!(groups[1].hottest().address, 0x1000);
    }

    #[test]
    fn lines_without_a_known_object_stay_apart() {
        let mut run = run(4);
        run.lines = vec![hot_line(0x1000, "unknown", 50), hot_line(0x2000, "unknown", 30)];
        run.lines[0].objects.clear();
        run.lines[1].objects[0].storage = Storage::Unknown;
        assert_eq!(groups(&run).len(), 2);
    }
}
