// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures of two builds that differ in size, members or line boundaries.
use super::heat::Heat;
use super::leaves::{Leaf, leaves};
use super::slots::{Rows, Stride, pairs};
use super::slots_text::wanted;
use corefold_dwarf::{Record, Structure, TypeId, Types};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The two builds, and how to compare them.
pub struct Builds<'a> {
    pub old: &'a Types,
    pub new: &'a Types,
    pub line: u64,
    /// `None`: each object begins on a line.
    pub stride: Option<Stride>,
    /// Globs of paths, of the pairs of fields.
    pub fields: &'a [String],
    pub heat: Option<&'a Heat>,
}

pub struct Change {
    pub name: String,
    pub size: (u64, u64),
    /// Fields that one build has, and the other has not.
    pub gone: Vec<Leaf>,
    pub added: Vec<Leaf>,
    /// Fields of both at other offsets, or of other sizes or types.
    pub moved: Vec<(Leaf, Leaf)>,
    pub rows: (Rows, Rows),
    /// Pairs of fields of both that share a line in other slots than before; those that matter most first.
    pub pairs: Vec<PairChange>,
    pub elements: Option<Elements>,
    /// Share of the recording's stall and spin that is for fields, or elements of an array, that moved together or apart.
    pub heat: f64,
}

/// Where elements of an array lie without room between them: the share of the places on a line at which one shares a line with
/// the next, in the old and the new build. Known to matter, if a recording waited for such an array, or if one of them is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elements {
    pub old: f64,
    pub new: f64,
    pub heat: f64,
}

impl Elements {
    fn new(sizes: (u64, u64), line: u64, heat: f64) -> Option<Elements> {
        let shared = |size: u64| Some(1.0 - 1.0 / Rows::new(Stride::Bytes(size), size, line).ok()?.period() as f64);
        let (old, new) = (shared(sizes.0)?, shared(sizes.1)?);
        let heat = heat * (old - new).abs();
        (old != new && (heat > 0.0 || old * new == 0.0)).then_some(Elements { old, new, heat })
    }
}

#[derive(Debug)]
pub struct PairChange {
    pub fields: (String, String),
    /// Slots in which they share a line, of [`Change::slots`].
    pub old: BTreeSet<u64>,
    pub new: BTreeSet<u64>,
    pub objects: (u64, u64),
    pub heat: f64,
}

impl Change {
    /// The slots that are compared: until the places of both builds repeat.
    pub fn slots(&self) -> u64 {
        slots(&self.rows)
    }
}

fn slots(rows: &(Rows, Rows)) -> u64 {
    let most = rows.0.period().max(rows.1.period());
    let objects = [rows.0.objects, rows.1.objects].into_iter().flatten().min();
    objects.map_or(most, |objects| most.min(objects))
}

impl PairChange {
    /// Slots in which they share a line now and did not, and the other way round.
    pub fn together(&self) -> Vec<u64> {
        self.new.difference(&self.old).copied().collect()
    }

    pub fn apart(&self) -> Vec<u64> {
        self.old.difference(&self.new).copied().collect()
    }
}

/// What differs, what matters most first; and names that only one of the builds has.
#[derive(Default)]
pub struct Differences {
    pub changes: Vec<Change>,
    pub compared: usize,
    pub gone: Vec<String>,
    pub added: Vec<String>,
    /// Structures that cannot lie as `--stride` says, and why.
    pub unplaced: Vec<(String, String)>,
}

type ByName<'a> = BTreeMap<&'a str, Vec<&'a Record<TypeId>>>;

pub fn differences(builds: &Builds<'_>, old: &[&Structure], new: &[&Structure]) -> Differences {
    let (old, new) = (by_name(builds.old, old), by_name(builds.new, new));
    let only = |own: &ByName<'_>, other: &ByName<'_>| {
        own.keys().filter(|name| !other.contains_key(*name)).map(|name| name.to_string()).collect()
    };
    let mut found = Differences { gone: only(&old, &new), added: only(&new, &old), ..Differences::default() };
    for (name, olds) in &old {
        let Some(news) = new.get(name) else { continue };
        for (old, new) in matched(builds, olds, news) {
            found.compared += 1;
            match change(builds, name, old, new) {
                Ok(Some(change)) => found.changes.push(change),
                Ok(None) => {}
                Err(why) => found.unplaced.push((name.to_string(), why)),
            }
        }
    }
    // What the recording says first; then line boundaries, then size.
    let rank = |change: &Change| (change.pairs.len(), change.size.0.abs_diff(change.size.1));
    found.changes.sort_by(|a, b| b.heat.total_cmp(&a.heat).then_with(|| rank(b).cmp(&rank(a))));
    found
}

fn by_name<'a>(types: &'a Types, structures: &[&'a Structure]) -> ByName<'a> {
    let mut named = ByName::new();
    for structure in structures {
        named.entry(&structure.name).or_default().extend(types.record(structure.id));
    }
    named
}

/// Structures of one name: those that are equal are the same one, the others are taken in their order.
fn matched<'a>(
    builds: &Builds<'_>,
    olds: &[&'a Record<TypeId>],
    news: &[&'a Record<TypeId>],
) -> Vec<(&'a Record<TypeId>, &'a Record<TypeId>)> {
    if let ([old], [new]) = (olds, news) {
        return vec![(old, new)];
    }
    let shapes =
        |types, records: &[&Record<TypeId>]| records.iter().map(|r| (r.size, leaves(types, r))).collect::<Vec<_>>();
    let (old_shapes, new_shapes) = (shapes(builds.old, olds), shapes(builds.new, news));
    let left = |own: &[&'a Record<TypeId>], own_shapes: &[(u64, Vec<Leaf>)], others: &[(u64, Vec<Leaf>)]| {
        let differs = own.iter().zip(own_shapes).filter(|(_, shape)| !others.contains(shape));
        differs.map(|(record, _)| *record).collect::<Vec<_>>()
    };
    let (olds, news) = (left(olds, &old_shapes, &new_shapes), left(news, &new_shapes, &old_shapes));
    olds.into_iter().zip(news).collect()
}

fn change(
    builds: &Builds<'_>,
    name: &str,
    old: &Record<TypeId>,
    new: &Record<TypeId>,
) -> Result<Option<Change>, String> {
    let (old_leaves, new_leaves) = (leaves(builds.old, old), leaves(builds.new, new));
    let size = (old.size, new.size);
    if size.0 == size.1 && old_leaves == new_leaves {
        return Ok(None);
    }
    let place = |size: u64| match builds.stride {
        None => Rows::new(Stride::Bytes(size.next_multiple_of(builds.line)), size, builds.line),
        Some(stride) => Rows::new(stride, size, builds.line),
    };
    let rows = (place(size.0)?, place(size.1)?);
    let index: HashMap<&str, &Leaf> = new_leaves.iter().map(|leaf| (leaf.path.as_str(), leaf)).collect();
    let is_old: BTreeSet<&str> = old_leaves.iter().map(|leaf| leaf.path.as_str()).collect();
    let both = old_leaves.iter().filter_map(|leaf| Some((leaf, *index.get(leaf.path.as_str())?)));
    let moved = both.filter(|(a, b)| a != b).map(|(a, b)| (a.clone(), b.clone())).collect();
    let gone = old_leaves.iter().filter(|leaf| !index.contains_key(leaf.path.as_str())).cloned().collect();
    let added = new_leaves.iter().filter(|leaf| !is_old.contains(leaf.path.as_str())).cloned().collect();
    let mut pairs = pair_changes(builds, &rows, &old_leaves, &new_leaves);
    let slots = slots(&rows) as f64;
    for pair in &mut pairs {
        let changed = (pair.together().len() + pair.apart().len()) as f64 / slots;
        pair.heat = builds.heat.map_or(0.0, |heat| heat.of_pair(name, &pair.fields)) * changed;
    }
    let weight = |pair: &PairChange| (pair.together().len() + pair.apart().len(), pair.fields.clone());
    pairs.sort_by(|a, b| {
        b.heat.total_cmp(&a.heat).then_with(|| weight(b).0.cmp(&weight(a).0)).then_with(|| a.fields.cmp(&b.fields))
    });
    let elements = Elements::new(size, builds.line, builds.heat.map_or(0.0, |heat| heat.of_elements(name)));
    let of_elements = elements.map_or(0.0, |elements| elements.heat);
    let heat = pairs.iter().map(|pair| pair.heat).fold(of_elements, f64::max);
    Ok(Some(Change { name: name.to_owned(), size, gone, added, moved, rows, pairs, elements, heat }))
}

/// Slots of a pair in the old and the new build, and how many objects they make.
type Shared = ([BTreeSet<u64>; 2], [u64; 2]);

fn pair_changes(builds: &Builds<'_>, rows: &(Rows, Rows), old: &[Leaf], new: &[Leaf]) -> Vec<PairChange> {
    let common: BTreeSet<&str> = new.iter().map(|leaf| leaf.path.as_str()).collect();
    let in_old: BTreeSet<&str> = old.iter().map(|leaf| leaf.path.as_str()).collect();
    let kept = |leaves: &[Leaf]| -> Vec<Leaf> {
        let kept = leaves.iter().filter(|l| common.contains(l.path.as_str()) && in_old.contains(l.path.as_str()));
        kept.filter(|leaf| wanted(leaf, builds.fields)).cloned().collect()
    };
    let mut shared: BTreeMap<(String, String), Shared> = BTreeMap::new();
    for (side, rows, leaves) in [(0, rows.0, kept(old)), (1, rows.1, kept(new))] {
        for pair in pairs(&rows, &leaves) {
            let (a, b) = (&leaves[pair.fields.0].path, &leaves[pair.fields.1].path);
            let key = if a < b { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) };
            let entry = shared.entry(key).or_default();
            entry.0[side] = pair.slots.into_iter().collect();
            entry.1[side] = pair.objects;
        }
    }
    let slots = slots(rows);
    let all = |found: &BTreeSet<u64>, period: u64| (0..slots).filter(|s| found.contains(&(s % period))).collect();
    let changes = shared.into_iter().map(|(fields, ([old, new], [of_old, of_new]))| PairChange {
        fields,
        old: all(&old, rows.0.period()),
        new: all(&new, rows.1.period()),
        objects: (of_old, of_new),
        heat: 0.0,
    });
    changes.filter(|pair| pair.old != pair.new).collect()
}
