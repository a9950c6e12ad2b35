// SPDX-License-Identifier: MIT OR Apache-2.0
//! All structures of a file's DWARF, its units read in parallel. What comes out does not depend on which thread
//! is first: of equal structures the one of the first unit is kept, and units are put together in their order.
use crate::Info;
use crate::fragment::{Builder, Fragment};
use crate::kind::Kind;
use crate::rows::{Candidate, Rows};
use crate::types::{Structure, TypeId, Types};
use anyhow::{Result, anyhow, ensure};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The first unit known to define each structure, by hash.
type Firsts = FxHashMap<u64, u32>;

impl Types {
    pub fn from_dwarf(info: &Info, threads: usize) -> Types {
        let (next, firsts) = (AtomicUsize::new(0), Mutex::new(Firsts::default()));
        let done: Mutex<Vec<(u32, Result<Fragment>)>> = Mutex::default();
        let work = || {
            loop {
                // Relaxed: only the number matters, results go through the mutexes.
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= info.units() {
                    return;
                }
                let fragment = fragment(info, unit as u32, &firsts);
                lock(&done).push((unit as u32, fragment));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.max(1) {
                scope.spawn(work);
            }
            work();
        });
        let mut done = done.into_inner().unwrap_or_default();
        done.sort_by_key(|(unit, _)| *unit);
        merge(done, &firsts.into_inner().unwrap_or_default())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn fragment(info: &Info, unit: u32, firsts: &Mutex<Firsts>) -> Result<Fragment> {
    let mut rows = Rows::read(info, unit)?;
    let mut candidates = rows.candidates(info);
    let mut seen = FxHashSet::default();
    candidates.retain(|candidate| seen.insert(candidate.hash));
    {
        let mut firsts = lock(firsts);
        candidates.retain(|Candidate { hash, .. }| {
            let first = firsts.entry(*hash).or_insert(unit);
            let is_first = *first >= unit;
            *first = unit.min(*first);
            is_first
        });
    }
    if candidates.is_empty() {
        return Ok(Fragment::default());
    }
    let fragment = Builder::build(info, unit, &mut rows, &candidates)?;
    ensure!(fragment.kinds.len() < u32::MAX as usize, "more types than can be counted");
    Ok(fragment)
}

fn merge(done: Vec<(u32, Result<Fragment>)>, firsts: &Firsts) -> Types {
    let mut types = Types::default();
    let mut by_hash: FxHashMap<u64, TypeId> = FxHashMap::default();
    let mut elsewhere: Vec<(TypeId, u64)> = Vec::new();
    for (unit, fragment) in done {
        let fragment = match fragment {
            Ok(fragment) => fragment,
            Err(error) => {
                types.damage.push(format!("{error:#}"));
                continue;
            }
        };
        let base = types.kinds.len() as u32;
        let global = |local: u32| TypeId(base.saturating_add(local));
        for found in fragment.found {
            if firsts.get(&found.hash) != Some(&unit) {
                continue;
            }
            by_hash.insert(found.hash, global(found.kind));
            let own = match fragment.kinds.get(found.kind as usize) {
                Some(Kind::Record { record, .. }) => record.name.clone(),
                _ => None,
            };
            let is_typedef = found.typedef.is_some();
            let Some(name) = found.typedef.or(own) else {
                continue;
            };
            types.structures.push(Structure { id: global(found.kind), name, is_typedef, unit: fragment.unit.clone() });
        }
        elsewhere.extend(fragment.elsewhere.into_iter().map(|(local, hash)| (global(local), hash)));
        types.kinds.extend(fragment.kinds.into_iter().map(|kind| kind.map(global)));
    }
    types.same = elsewhere.into_iter().filter_map(|(id, hash)| Some((id, *by_hash.get(&hash)?))).collect();
    let structures = std::mem::take(&mut types.structures);
    types.structures = structures.into_iter().filter(|structure| types.record(structure.id).is_some()).collect();
    types
}

/// As an error, where nothing could be read.
pub fn checked(types: Types) -> Result<Types> {
    match types.damage.first() {
        Some(damage) if types.structures.is_empty() => Err(anyhow!("its debug information is damaged: {damage}")),
        _ => Ok(types),
    }
}
