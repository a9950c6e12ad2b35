// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers of each line, by the places in the code that caused them.
use crate::carrier::Carrier;
use crate::counts::users::{Use, Users};
use crate::engine::{launch, line_start};
use crate::storage::relayout::line_in_memory;
use crate::storage::relayout::tag_of;
use alloc::vec::Vec;
use core::hash::Hash;
use corefold_model::{Access, Outcome, Ticks};
use corefold_recording::{AccessKind, CLASSES, Class, Conflict, CpuSet, Line, Object, Site};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    line: u32,
    pc: u64,
    offset: u8,
    size: u8,
    kind: AccessKindCode,
}

/// Index into [`KINDS`].
type AccessKindCode = u8;

#[derive(Default)]
pub struct Counts {
    transfers: u64,
    pub stall: Ticks,
    pub spin: Ticks,
    /// Of the spin, what had been charged as stall.
    relieved: Ticks,
    /// The first CPUs, a bit each, and the others.
    cpus: [u64; FIRST_WORDS],
    other_cpus: CpuSet,
    /// By offset, in the order of their first access.
    conflicts: Vec<Conflict>,
}

const FIRST_WORDS: usize = 2;

impl Counts {
    #[inline]
    fn by(&mut self, cpu: u32) {
        match self.cpus.get_mut(cpu as usize / 64) {
            Some(word) => *word |= 1 << (cpu % 64),
            None => self.other_cpus.insert(cpu),
        }
    }

    fn cpus(&self) -> CpuSet {
        let first = (0..64 * FIRST_WORDS as u32).filter(|cpu| self.cpus[*cpu as usize / 64] >> (cpu % 64) & 1 != 0);
        let mut cpus: CpuSet = first.collect();
        cpus.add(&self.other_cpus);
        cpus
    }

    /// Subtracts up to `stall`.
    pub fn relieve(&mut self, stall: Ticks) -> Ticks {
        let here = self.stall.min(stall);
        self.stall -= here;
        here
    }

    /// Threads have spun here for so long, and as much of that was relieved of stall.
    pub fn spun(&mut self, time: Ticks, relieved: Ticks) {
        self.spin += time;
        self.relieved += relieved;
    }

    /// What was counted as spin is none. Returns how much of it is compute, and how much is stall again.
    fn reverse_spin(&mut self) -> (Ticks, Ticks) {
        let (spin, relieved) = (core::mem::take(&mut self.spin), core::mem::take(&mut self.relieved));
        // A stall may be charged later than it was.
        let stall = relieved.min(spin);
        self.stall += stall;
        (spin - stall, stall)
    }

    /// The line had to be fetched for an access from here because of this one, of another CPU.
    fn because_of(&mut self, conflict: Conflict) {
        let same = |known: &&mut Conflict| (known.offset, known.wrote) == (conflict.offset, conflict.wrote);
        match self.conflicts.iter_mut().find(same) {
            Some(known) => known.count += 1,
            None => self.conflicts.push(conflict),
        }
    }

    /// Cycles of stall and of spinning, as the site's.
    fn cost(&self) -> u64 {
        self.stall / corefold_model::TICKS_PER_CYCLE + self.spin / corefold_model::TICKS_PER_CYCLE
    }

    fn site(&self, pc: u64, kind: AccessKindCode, offset: u8, size: u8) -> Site {
        let cycles = |t: Ticks| t / corefold_model::TICKS_PER_CYCLE;
        Site {
            pc,
            kind: KINDS[usize::from(kind)],
            offset,
            size,
            transfers: self.transfers,
            stall: cycles(self.stall),
            spin: cycles(self.spin),
            cpus: self.cpus(),
            conflicts: self.conflicts.clone(),
        }
    }
}

/// A line that two or more CPUs touched; the model's records and these have the same numbers.
#[derive(Clone)]
struct Shared {
    address: u64,
    objects: Vec<Object>,
    transfers: [u64; CLASSES],
    users: Users,
    /// A cache of the numbers of some of its sites.
    recent: [(Key, u32); RECENT_SITES],
}

const RECENT_SITES: usize = 4;
/// No key of a line that is.
const NO_SITE: (Key, u32) = (Key { line: u32::MAX, pc: 0, offset: 0, size: 0, kind: 0 }, 0);

/// Uncontended transfers (first touch, read-only, single hand-off), of which there are millions: counted by region of
/// memory and place in the code, with one line as an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Region {
    number: u64,
    pc: u64,
    kind: AccessKindCode,
}

const REGION_SHIFT: u32 = 16;
const RECENT: usize = 8;

pub struct Passed {
    address: u64,
    size: u8,
    /// The object that was there first: it may be freed later.
    object: Option<Object>,
    transfers: [u64; CLASSES],
    pub counts: Counts,
}

impl Passed {
    fn entry(&self, key: &Region) -> corefold_recording::Passed {
        let site = self.counts.site(key.pc, key.kind, 0, self.size);
        corefold_recording::Passed {
            address: self.address,
            size: self.size,
            object: self.object.clone(),
            pc: key.pc,
            kind: site.kind,
            transfers: self.transfers,
            stall: site.stall,
        }
    }

    fn new(address: u64, size: u8) -> Passed {
        let object = crate::storage::objects::objects_on(address, 1).pop();
        Passed { address, size, object, transfers: [0; CLASSES], counts: Counts::default() }
    }
}

pub struct Sites {
    regions: Vec<(Region, Passed)>,
    /// Their numbers there.
    numbers: HashMap<Region, u32, FxBuildHasher>,
    /// A cache of the last regions of some places in the code: a loop goes through a region line by line.
    recent: [Option<(Region, u32)>; RECENT],
    lines: Vec<Shared>,
    counts: Vec<(Key, Counts)>,
    /// Their numbers there.
    count_numbers: HashMap<Key, u32, FxBuildHasher>,
}

pub static SITES: Carrier<Sites> = Carrier::new(Sites {
    regions: Vec::new(),
    numbers: HashMap::with_hasher(FxBuildHasher),
    recent: [None; RECENT],
    lines: Vec::new(),
    counts: Vec::new(),
    count_numbers: HashMap::with_hasher(FxBuildHasher),
});

const KINDS: [AccessKind; 6] = [
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::AtomicLoad,
    AccessKind::AtomicStore,
    AccessKind::Rmw,
    AccessKind::SplitLock,
];

/// A second CPU has accessed the line: records the object there, as it may be freed later.
pub fn line_shared(address: u64) {
    let line = line_start(address);
    let objects = crate::storage::objects::objects_on(line, launch().machine.line_bytes.into());
    let (transfers, recent) = ([0; CLASSES], [NO_SITE; RECENT_SITES]);
    let shared = Shared { address: line, objects, transfers, users: Users::default(), recent };
    SITES.with(|sites| sites.lines.push(shared));
}

/// A heap object is about to be freed: its shared lines record it, if it was allocated after
/// they were first shared.
pub fn freed(object: &Object) {
    let bytes = u64::from(launch().machine.line_bytes);
    for line in (line_start(object.address)..object.address + object.bytes).step_by(bytes as usize) {
        if let Some(index) = tag_of(line).record_index() {
            SITES.with(|sites| sites.lines[index as usize].add(object));
        }
    }
}

impl Shared {
    /// Records an object, if none is recorded yet.
    fn add(&mut self, object: &Object) {
        let end = |object: &Object| object.address + object.bytes;
        let overlaps = |old: &Object| old.address < end(object) && object.address < end(old);
        if !self.objects.iter().any(overlaps) {
            self.objects.push(object.clone());
        }
    }
}

impl Sites {
    pub fn at(&mut self, line: u32, pc: u64, kind: AccessKindCode, address: u64, size: u8, cpu: u32) -> &mut Counts {
        let shared = &mut self.lines[line as usize];
        let key = Key { line, pc, offset: (address - shared.address) as u8, size, kind };
        let recent = &mut shared.recent[(pc as usize >> 2 ^ usize::from(kind)) % RECENT_SITES];
        if recent.0 != key {
            *recent = (key, number_of(&mut self.count_numbers, &mut self.counts, key, Counts::default));
        }
        let counts = &mut self.counts[recent.1 as usize].1;
        counts.by(cpu);
        counts
    }

    pub fn region_at(&mut self, pc: u64, kind: AccessKindCode, address: u64, size: u8, cpu: u32) -> &mut Passed {
        let key = Region { number: address >> REGION_SHIFT, pc, kind };
        let slot = pc as usize % RECENT;
        let number = match self.recent[slot] {
            Some((recent, number)) if recent == key => number,
            _ => number_of(&mut self.numbers, &mut self.regions, key, || Passed::new(address, size)),
        };
        self.recent[slot] = Some((key, number));
        let passed = &mut self.regions[number as usize].1;
        passed.counts.by(cpu);
        passed
    }

    /// An uncontended transfer of a line.
    pub fn passed(&mut self, pc: u64, kind: AccessKindCode, access: &Access, outcome: &Outcome) {
        let passed = self.region_at(pc, kind, access.address, access.size as u8, access.cpu);
        passed.counts.stall += outcome.stall;
        if let Some(class) = outcome.transfer {
            passed.transfers[class as usize] += 1;
            passed.counts.transfers += 1;
        }
    }

    pub fn touched(&mut self, line: u32, pc: u64, kind: AccessKindCode, access: &Access, outcome: &Outcome) {
        let fetched = outcome.transfer.is_some() || outcome.dirtied;
        let conflict = self.note(line, access).0.filter(|_| fetched);
        let counts = self.at(line, pc, kind, access.address, access.size as u8, access.cpu);
        counts.stall += outcome.stall;
        if let Some(conflict) = conflict {
            counts.because_of(conflict);
        }
        if let Some(class) = outcome.transfer {
            counts.transfers += 1;
            self.lines[line as usize].transfers[class as usize] += 1;
        }
    }

    /// An access to a shared line costs nothing. It is a fact about the field all the same.
    #[inline]
    pub fn used(&mut self, line: u32, pc: u64, kind: AccessKindCode, access: &Access) {
        if self.note(line, access).1 {
            self.at(line, pc, kind, access.address, access.size as u8, access.cpu);
        }
    }

    /// Takes note of an access to a shared line, of whatever cost. Returns what it is in conflict with, should it
    /// have had to fetch the line, and whether it is of a kind that was not known.
    fn note(&mut self, line: u32, access: &Access) -> (Option<Conflict>, bool) {
        let line_bytes = launch().machine.line_bytes;
        let shared = &mut self.lines[line as usize];
        let offset = (access.address - shared.address) as u8;
        let by = Use { cpu: access.cpu, offset, size: access.size as u8, writes: access.kind.writes(), line_bytes };
        (shared.users.conflict(&by), shared.users.note(&by))
    }

    /// Threads wait for these bytes to be written: marks them, if no write to them was seen.
    pub fn is_waited_for(&mut self, line: u32, address: u64, size: u8) {
        let shared = &mut self.lines[line as usize];
        let offset = (address - shared.address) as u8;
        shared.users.is_written(offset, size, launch().machine.line_bytes);
    }

    /// Has anybody written to the byte at `address`, of a shared line?
    pub fn was_written(&self, line: u32, address: u64) -> bool {
        let shared = &self.lines[line as usize];
        shared.users.was_written((address - shared.address) as u8, 1, launch().machine.line_bytes)
    }

    /// Time of loops that polled words which nobody wrote is not spin: they computed, or waited for the lines. Returns how
    /// much they did of either.
    pub fn take_unwritten_spins(&mut self) -> (Ticks, Ticks) {
        let line_bytes = launch().machine.line_bytes;
        let lines = &self.lines;
        let unwritten = |key: &Key| !lines[key.line as usize].users.was_written(key.offset, key.size, line_bytes);
        let spins = self.counts.iter_mut().filter(|(key, counts)| counts.spin > 0 && unwritten(key));
        spins.map(|(_, counts)| counts.reverse_spin()).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// Forgets all counts: the region of interest begins.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.count_numbers.clear();
        self.regions.clear();
        self.numbers.clear();
        self.recent = Default::default();
        self.lines.iter_mut().for_each(|l| (l.transfers, l.recent) = ([0; CLASSES], [NO_SITE; RECENT_SITES]));
    }

    /// Transfers over all lines, by class.
    pub fn totals(&self) -> [u64; CLASSES] {
        let mut totals = [0; CLASSES];
        let regions = self.regions.iter().map(|(_, passed)| passed.transfers);
        for transfers in self.lines.iter().map(|l| l.transfers).chain(regions) {
            totals.iter_mut().zip(transfers).for_each(|(t, n)| *t += n);
        }
        totals
    }

    /// The `most` most expensive lines, with their sites. There may be millions: only what is returned is put together.
    pub fn lines(&self, most: usize, line_bytes: u32) -> Vec<Line> {
        let mut costs = alloc::vec![None; self.lines.len()];
        for (key, counts) in &self.counts {
            *costs[key.line as usize].get_or_insert(0) += counts.cost();
        }
        let with_cost = |(line, cost): (usize, Option<u64>)| {
            Some((core::cmp::Reverse(cost?), line_in_memory(self.lines[line].address), line))
        };
        let mut order: Vec<_> = costs.into_iter().enumerate().filter_map(with_cost).collect();
        order.sort_unstable();
        order.truncate(most);
        let mut places = alloc::vec![None; self.lines.len()];
        order.iter().enumerate().for_each(|(place, (.., line))| places[*line] = Some(place));
        let mut lines: Vec<Line> = order.iter().map(|(.., line)| self.line(*line as u32, line_bytes)).collect();
        let mut sites: Vec<_> = self.counts.iter().filter(|(key, _)| places[key.line as usize].is_some()).collect();
        sites.sort_unstable_by_key(|(key, _)| *key);
        for (key, counts) in sites {
            let place = places[key.line as usize].expect("others were left out");
            add_site(&mut lines[place], key, counts);
        }
        lines
    }

    /// The `most` most expensive entries of uncontended transfers.
    pub fn passed_list(&self, most: usize) -> Vec<corefold_recording::Passed> {
        let mut all: Vec<_> = self.regions.iter().filter(|(_, p)| p.counts.stall > 0).collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        corefold_recording::Passed::merged(all.into_iter().map(|(key, passed)| passed.entry(key)), most)
    }

    fn line(&self, index: u32, bytes: u32) -> Line {
        let mut shared = self.lines[index as usize].clone();
        // With another layout, a line may be simulated elsewhere.
        shared.address = line_in_memory(shared.address);
        crate::storage::objects::objects_on(shared.address, bytes.into()).iter().for_each(|object| shared.add(object));
        shared.objects.sort_by_key(|object| object.address);
        let Shared { address, objects, transfers, .. } = shared;
        Line { address, bytes, objects, transfers, stall: 0, spin: 0, sites: Vec::new() }
    }
}

/// The number of what `key` stands for: the next one, of a `new` one, if it was not asked for before.
#[cold]
fn number_of<K: Copy + Eq + Hash, V>(
    numbers: &mut HashMap<K, u32, FxBuildHasher>,
    all: &mut Vec<(K, V)>,
    key: K,
    new: impl FnOnce() -> V,
) -> u32 {
    *numbers.entry(key).or_insert_with(|| {
        all.push((key, new()));
        all.len() as u32 - 1
    })
}

fn add_site(line: &mut Line, key: &Key, counts: &Counts) {
    let site = counts.site(key.pc, key.kind, key.offset, key.size);
    line.stall += site.stall;
    line.spin += site.spin;
    line.sites.push(site);
}

const _: () = assert!(Class::Upgrade as usize == corefold_model::Class::Upgrade as usize);
const _: () = assert!(matches!(KINDS[corefold_sim::STORED as usize], AccessKind::AtomicStore));
const _: () = assert!(matches!(KINDS[corefold_sim::WRITTEN as usize], AccessKind::Write));
