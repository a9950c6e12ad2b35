// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who uses each field of an object's lines, what it costs, and what it shares its line with.
use crate::hot::{Group, writes};
use corefold_explain::{Explained, FieldUse, HotLine, ObjectUse, SiteUse, Storage, one_name, pattern};
use corefold_recording::{AccessKind, CpuSet};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Conflicts of one kind that are fewer of all than this are not told.
const LEAST: f64 = 0.1;

/// A field of one object or of several; the elements of an array are one.
pub struct FieldRow {
    pub name: String,
    /// In its object, of the first element.
    pub offset: u64,
    pub readers: CpuSet,
    pub writers: CpuSet,
    /// Accesses that fetched the line.
    pub misses: u64,
    pub wait: u64,
    /// The same by where the object begins on its line.
    pub by_slot: BTreeMap<u64, u64>,
    pub sharing: Shared,
}

/// What a line is fetched for when this field is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shared {
    /// Other CPUs used the same field.
    True,
    /// Other CPUs used other fields.
    False,
    Both,
    /// One of the two is a lock, the other is not.
    LockWithData,
    #[default]
    Unknown,
}

impl Shared {
    pub fn name(self) -> &'static str {
        match self {
            Shared::True => "true",
            Shared::False => "false",
            Shared::Both => "true and false",
            Shared::LockWithData => "lock with data",
            Shared::Unknown => "",
        }
    }
}

/// Times that a line was fetched for a field.
#[derive(Default)]
struct Conflicts {
    same: u64,
    other: u64,
    /// Of the others: between a lock and what is none.
    with_lock: u64,
}

impl Conflicts {
    fn shared(&self) -> Shared {
        let share = |part: u64| part as f64 / (self.same + self.other).max(1) as f64;
        match (share(self.same) >= LEAST, share(self.other) >= LEAST) {
            (_, true) if self.with_lock * 2 > self.other => Shared::LockWithData,
            (true, true) => Shared::Both,
            (true, false) => Shared::True,
            (false, true) => Shared::False,
            (false, false) => Shared::Unknown,
        }
    }
}

/// The object that a field is of, if it is known.
fn object<'a>(line: &'a HotLine, field: &FieldUse) -> Option<&'a ObjectUse> {
    line.objects.get(field.object?)
}

/// Where objects begin on their lines whose place an allocator chose: one slot or several.
pub fn slots(group: &Group<'_>) -> BTreeSet<u64> {
    let all = group.lines.iter().flat_map(|line| line.fields.iter().filter_map(|field| slot(line, field)));
    all.collect()
}

/// Where the field's object begins on a line, if an allocator chose that.
pub fn slot(line: &HotLine, field: &FieldUse) -> Option<u64> {
    let placed = object(line, field).filter(|object| matches!(object.storage, Storage::Heap | Storage::Slab));
    placed.map(|object| object.address % u64::from(line.bytes))
}

/// Names of the fields on a line in which a lock is.
pub fn locks_on<'a>(line: &'a HotLine, explained: &Explained) -> HashSet<&'a str> {
    let holds = |field: &&FieldUse| {
        let begin = line.address.wrapping_add_signed(field.offset_in_line);
        explained.locks.iter().any(|lock| (begin..begin + field.size).contains(&lock.address))
    };
    line.fields.iter().filter(holds).map(|field| field.name.as_str()).collect()
}

/// Of a group's lines, those waited for longest first.
pub fn rows(group: &Group<'_>, explained: &Explained) -> Vec<FieldRow> {
    let mut index = HashMap::new();
    let mut found: Vec<(FieldRow, Vec<&str>, Conflicts)> = Vec::new();
    for line in &group.lines {
        let locks = locks_on(line, explained);
        for site in &line.sites {
            let Some(field) = line.fields.get(site.field_index) else { continue };
            let at = *index.entry(pattern(&field.name)).or_insert(found.len());
            if at == found.len() {
                found.push((FieldRow::new(field.offset_in_object), Vec::new(), Conflicts::default()));
            }
            let (row, names, conflicts) = &mut found[at];
            names.push(&field.name);
            row.add(site, field.offset_in_object, slot(line, field));
            conflicts.add(site, &locks);
        }
    }
    let row = |(row, names, conflicts): (FieldRow, Vec<&str>, Conflicts)| FieldRow {
        name: one_name(&names),
        sharing: conflicts.shared(),
        ..row
    };
    let mut rows: Vec<FieldRow> = found.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.wait, row.misses)));
    rows
}

/// What sharing one field's accesses on a line show.
pub fn sharing(line: &HotLine, field: usize, locks: &HashSet<&str>) -> Shared {
    let mut conflicts = Conflicts::default();
    line.sites.iter().filter(|site| site.field_index == field).for_each(|site| conflicts.add(site, locks));
    conflicts.shared()
}

impl Conflicts {
    fn add(&mut self, site: &SiteUse, locks: &HashSet<&str>) {
        let is_lock = |field: &str| locks.contains(field);
        for conflict in &site.conflicts {
            match conflict.same {
                true => self.same += conflict.count,
                false => self.other += conflict.count,
            }
            if !conflict.same && is_lock(&site.field) != is_lock(&conflict.field) {
                self.with_lock += conflict.count;
            }
        }
    }
}

impl FieldRow {
    fn new(offset: u64) -> FieldRow {
        FieldRow {
            name: String::new(),
            offset,
            readers: CpuSet::default(),
            writers: CpuSet::default(),
            misses: 0,
            wait: 0,
            by_slot: BTreeMap::new(),
            sharing: Shared::Unknown,
        }
    }

    fn add(&mut self, site: &SiteUse, offset: u64, slot: Option<u64>) {
        let wait = site.stall + site.spin;
        self.offset = self.offset.min(offset);
        self.misses += site.transfers;
        self.wait += wait;
        if writes(site.kind) {
            self.writers.add(&site.cpus);
        }
        if !matches!(site.kind, AccessKind::Write | AccessKind::AtomicStore) {
            self.readers.add(&site.cpus);
        }
        if let Some(slot) = slot {
            *self.by_slot.entry(slot).or_default() += wait;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::groups;
    use crate::sample::{against, hot_line, lock, place, run, site};
    use corefold_recording::LockKind;

    /// Objects of a slab at these addresses, each with a lock, a count beside it and a word of its own.
    fn told(addresses: &[u64]) -> Explained {
        let mut run = run(4);
        let line = |address: &u64| {
            let mut line = hot_line(address / 64 * 64, "struct inode", 60);
            line.objects[0].address = *address;
            line.objects[0].storage = Storage::Slab;
            let names = ["inode.lock", "inode.count", "inode.own"];
            let field = |(at, name): (usize, &&str)| FieldUse {
                name: (*name).into(),
                object: Some(0),
                offset_in_object: at as u64 * 8,
                offset_in_line: (address % 64) as i64 + at as i64 * 8,
                size: 8,
                ..FieldUse::default()
            };
            line.fields = names.iter().enumerate().map(field).collect();
            let at = place("add", "counter.c", 31);
            let kinds = [AccessKind::Rmw, AccessKind::Write, AccessKind::Read];
            let others = ["inode.count", "inode.lock", "inode.own"];
            let use_of = |n: usize| SiteUse {
                field_index: n,
                transfers: 5,
                ..against(site(&at, kinds[n], names[n], 2000 * (3 - n as u64), 0), others[n])
            };
            line.sites = (0..3).map(use_of).collect();
            line
        };
        run.lines = addresses.iter().map(line).collect();
        run.locks = addresses.iter().map(|address| lock("l", LockKind::SpunWord, *address, 1)).collect();
        run
    }

    #[test]
    fn a_field_has_its_readers_its_writers_and_what_it_shares_the_line_with() {
        let run = told(&[0x1000]);
        let rows = rows(&groups(&run)[0], &run);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.offset, row.readers.len(), row.writers.len(), row.misses, row.sharing))
            .collect();
        let expected = [
            ("inode.lock", 0, 8, 8, 5, Shared::LockWithData),
            ("inode.count", 8, 0, 8, 5, Shared::LockWithData),
            ("inode.own", 16, 8, 0, 5, Shared::True),
        ];
        assert_eq!(told, expected);
        let locks = locks_on(&run.lines[0], &run);
        assert_eq!(sharing(&run.lines[0], 1, &locks), Shared::LockWithData);
        assert_eq!(sharing(&run.lines[0], 1, &HashSet::new()), Shared::False, "no lock, no lock with data");
    }

    #[test]
    fn objects_of_one_type_are_told_by_slot() {
        let run = told(&[0x1000, 0x1010 + 640, 0x1010 + 1280]);
        let group = &groups(&run)[0];
        assert_eq!(slots(group).into_iter().collect::<Vec<_>>(), [0, 16]);
        let rows = rows(group, &run);
        assert_eq!(rows[0].by_slot, BTreeMap::from([(0, 6000), (16, 12000)]));
    }
}
