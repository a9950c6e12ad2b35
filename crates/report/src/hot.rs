// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hot lines, brought together by the object that they belong to.
//!
//! An array of per-CPU counters that share lines by mistake lies on ten lines, and is one mistake: its
//! lines are one row of the report, with the places that touch them added up.
use crate::place::in_program;
use corefold_explain::{
    Explained, HotLine, ObjectUse, Place, Sharing, SiteUse, Storage, Uses, Verdict, judge, one_name, pattern, users,
};
use corefold_recording::{AccessKind, CLASSES, CpuSet};
use std::collections::{HashMap, HashSet};

/// The hot lines of one object, or of like objects from one allocation site.
#[derive(Debug)]
pub struct Group<'a> {
    /// The hottest first.
    pub lines: Vec<&'a HotLine>,
    pub stall: u64,
    pub spin: u64,
    pub transfers: u64,
    pub transfers_by_class: [u64; CLASSES],
    /// CPUs that the lines moved between.
    pub cpus: CpuSet,
    /// Of the object's own accesses, over all its lines.
    pub verdict: Verdict,
    /// By cycles, the most first.
    pub sites: Vec<Spot<'a>>,
}

impl<'a> Group<'a> {
    /// Half of the wait or more is for what merely lies beside what other CPUs use.
    pub fn is_mostly_false(&self) -> bool {
        matches!(self.verdict.sharing, Sharing::False | Sharing::Both) && self.verdict.false_share >= 0.5
    }

    pub fn hottest(&self) -> &'a HotLine {
        self.lines[0]
    }

    /// Cycles that CPUs waited for these lines.
    pub fn wait(&self) -> u64 {
        self.stall + self.spin
    }

    /// The fields with their cycles waited, the most first; elements of an array are one.
    pub fn fields(&self) -> Vec<(String, u64)> {
        by_field(self.lines.iter().flat_map(|line| &line.sites).map(|site| (site.field.as_str(), wait(site))))
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
    /// With the cycles waited.
    pub fields: Vec<(&'a str, u64)>,
    pub transfers: u64,
    pub stall: u64,
    pub spin: u64,
    pub cpus: CpuSet,
    /// Of the transfers, those of reads on CPUs that do not write there.
    pub read_elsewhere: u64,
}

/// Cycles waited by field, the most first; elements of an array are one field.
pub fn by_field<'a>(waits: impl Iterator<Item = (&'a str, u64)>) -> Vec<(String, u64)> {
    let mut index = HashMap::new();
    let mut fields: Vec<(Vec<&str>, u64)> = Vec::new();
    for (name, wait) in waits {
        let at = *index.entry(pattern(name)).or_insert(fields.len());
        if at == fields.len() {
            fields.push(Default::default());
        }
        fields[at].0.push(name);
        fields[at].1 += wait;
    }
    fields.sort_by_key(|field| std::cmp::Reverse(field.1));
    fields.into_iter().map(|(names, wait)| (one_name(&names), wait)).collect()
}

fn wait(site: &SiteUse) -> u64 {
    site.stall + site.spin
}

impl Spot<'_> {
    /// Its fields, those that were waited for longest first.
    pub fn field_names(&self) -> Vec<String> {
        by_field(self.fields.iter().copied()).into_iter().map(|field| field.0).collect()
    }

    pub fn wait(&self) -> u64 {
        self.stall + self.spin
    }

    pub fn writes(&self) -> bool {
        writes(self.kind)
    }
}

pub fn writes(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Write | AccessKind::AtomicStore | AccessKind::Rmw | AccessKind::SplitLock)
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
    match costliest(line) {
        Some(object) if object.storage != Storage::Unknown => object.name.clone(),
        _ => format!("{:#x}", line.address),
    }
}

/// The object whose fields are waited for longest.
pub fn costliest(line: &HotLine) -> Option<&ObjectUse> {
    let mut costs = vec![0; line.objects.len()];
    for field in &line.fields {
        if let Some(cost) = field.object.and_then(|o| costs.get_mut(o)) {
            *cost += field.stall + field.spin;
        }
    }
    line.objects.get((0..costs.len()).rev().max_by_key(|&object| costs[object])?)
}

/// The verdict on a group: each line counts by what accesses to the object itself waited.
fn verdict(lines: &[&HotLine]) -> Verdict {
    let own_sites = lines.iter().flat_map(|line| {
        let main = costliest(line);
        // Where nobody knows the objects, the line is what is judged.
        let name = main.filter(|object| object.storage != Storage::Unknown).map(|object| object.name.as_str());
        line.sites.iter().filter(move |site| {
            let object = line.fields.get(site.field_index).and_then(|field| field.object);
            let object = object.and_then(|object| line.objects.get(object));
            object.zip(name).is_none_or(|(object, name)| object.name == name)
        })
    });
    let own: HashSet<*const SiteUse> = own_sites.map(std::ptr::from_ref).collect();
    judge(lines.iter().flat_map(|line| &line.sites), |site| own.contains(&std::ptr::from_ref(site)))
}

fn group(mut lines: Vec<&HotLine>) -> Group<'_> {
    lines.sort_by_key(|l| std::cmp::Reverse(l.stall + l.spin));
    let mut transfers_by_class = [0; CLASSES];
    for line in &lines {
        transfers_by_class.iter_mut().zip(line.transfers_by_class).for_each(|(sum, n)| *sum += n);
    }
    let mut cpus = CpuSet::default();
    lines.iter().for_each(|line| cpus.add(&line.cpus));
    Group {
        stall: lines.iter().map(|l| l.stall).sum(),
        spin: lines.iter().map(|l| l.spin).sum(),
        transfers: lines.iter().map(|l| l.transfers).sum(),
        transfers_by_class,
        cpus,
        verdict: verdict(&lines),
        sites: spots(&lines),
        lines,
    }
}

/// A field at its address: objects of one type have the same names of fields.
fn field(site: &SiteUse) -> (u64, &str) {
    (site.address, &site.field)
}

/// The CPUs that write each field, but for rare writes, as of its first value.
fn writers<'a>(lines: &[&'a HotLine]) -> HashMap<(u64, &'a str), CpuSet> {
    let mut uses: HashMap<_, Uses> = HashMap::new();
    for site in lines.iter().flat_map(|line| &line.sites).filter(|site| writes(site.kind)) {
        uses.entry(field(site)).or_default().push((site.transfers as f64, &site.cpus));
    }
    uses.into_iter().map(|(field, uses)| (field, users(&uses))).collect()
}

fn spots<'a>(lines: &[&'a HotLine]) -> Vec<Spot<'a>> {
    let writers = writers(lines);
    let mut index = HashMap::new();
    let mut spots: Vec<Spot> = Vec::new();
    for site in lines.iter().flat_map(|l| &l.sites) {
        let (place, kind) = (in_program(site), site.kind);
        let at = *index.entry((place.clone(), kind as u8)).or_insert(spots.len());
        if at == spots.len() {
            spots.push(Spot {
                place,
                kind,
                fields: Vec::new(),
                transfers: 0,
                stall: 0,
                spin: 0,
                cpus: CpuSet::default(),
                read_elsewhere: 0,
            });
        }
        spots[at].add(site, writers.get(&field(site)));
    }
    spots.sort_by_key(|s| std::cmp::Reverse(s.wait()));
    spots
}

impl<'a> Spot<'a> {
    /// Adds a place; `writers`: the CPUs that write its field.
    fn add(&mut self, site: &'a SiteUse, writers: Option<&CpuSet>) {
        let by_a_writer = writers.is_some_and(|writers| writers.meets(&site.cpus));
        if !self.writes() && !by_a_writer {
            self.read_elsewhere += site.transfers;
        }
        self.fields.push((&site.field, wait(site)));
        self.transfers += site.transfers;
        self.stall += site.stall;
        self.spin += site.spin;
        self.cpus.add(&site.cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{hot_line, run};

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
