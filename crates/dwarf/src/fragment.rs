// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structures that one unit is the first to define, with the types of their members.
use crate::read::keyword;
use crate::rows::{Candidate, Rows};
use crate::{Die, Info, Keyword, Kind};
use anyhow::{Result, ensure};
use gimli::constants as c;
use rustc_hash::{FxHashMap, FxHashSet};

/// Structures that contain each other deeper than this contain themselves.
const DEEPEST: usize = 100;

/// Types refer to each other by their numbers here.
#[derive(Default)]
pub struct Fragment {
    pub kinds: Vec<Kind<u32>>,
    /// The structures, by hash.
    pub found: Vec<Found>,
    /// Types that stand for a structure of another unit: the hash of that.
    pub elsewhere: Vec<(u32, u64)>,
    /// The source file.
    pub unit: Option<String>,
}

pub struct Found {
    pub hash: u64,
    pub kind: u32,
    pub typedef: Option<String>,
}

pub struct Builder<'a> {
    info: &'a Info,
    unit: u32,
    rows: &'a mut Rows,
    /// Rows of the structures that are read here.
    fresh: FxHashSet<usize>,
    /// By entry, and whether all of the type is wanted or only its name.
    known: FxHashMap<(Die, bool), u32>,
    scopes: FxHashMap<usize, String>,
    in_c: bool,
    /// Rust's compiler writes the alignment of everything, not just what the source demands.
    is_rust: bool,
    /// Bytes of names that may still be made; names that share their bytes would use up memory.
    left: u64,
    fragment: Fragment,
}

impl<'a> Builder<'a> {
    pub fn build(info: &'a Info, unit: u32, rows: &'a mut Rows, fresh: &[Candidate]) -> Result<Fragment> {
        let in_c = info.has_tags(Die { unit, offset: 0 });
        let mut builder = Builder {
            info,
            unit,
            rows,
            fresh: fresh.iter().map(|candidate| candidate.row).collect(),
            known: FxHashMap::default(),
            scopes: FxHashMap::default(),
            in_c,
            is_rust: info.is_rust(Die { unit, offset: 0 }),
            left: (1 << 20) + 16 * info.header(unit as usize).length_including_self() as u64,
            fragment: Fragment::default(),
        };
        for candidate in fresh {
            let kind = builder.kind(builder.rows.die(candidate.row), true, DEEPEST);
            let typedef = candidate.typedef.map(|row| builder.full_name(row));
            builder.fragment.found.push(Found { hash: candidate.hash, kind, typedef });
            let row = builder.rows.die(candidate.row).offset;
            ensure!(builder.left > 0, "unit {unit}, entry at {row:#x} of it: names share their bytes too often");
        }
        let name = info.unit_numbered(unit as usize).ok().and_then(|unit| unit.name.clone());
        builder.fragment.unit = name.and_then(|name| Some(gimli::Reader::to_string_lossy(&name).ok()?.into_owned()));
        Ok(builder.fragment)
    }

    fn push(&mut self, kind: Kind<u32>) -> u32 {
        self.fragment.kinds.push(kind);
        self.fragment.kinds.len() as u32 - 1
    }

    /// The number of the type at `die`; `whole`: not just its name.
    fn kind(&mut self, die: Die, whole: bool, depth: usize) -> u32 {
        if let Some(known) = self.known.get(&(die, whole)) {
            return *known;
        }
        let number = self.push(Kind::Unknown);
        self.known.insert((die, whole), number);
        if depth > 0 && self.left > 0 {
            let kind = self.read(die, whole, number, depth - 1);
            self.fragment.kinds[number as usize] = kind;
        }
        number
    }

    fn read(&mut self, die: Die, whole: bool, number: u32, depth: usize) -> Kind<u32> {
        let row = if die.unit == self.unit { self.rows.at(die.offset) } else { None };
        let tag = row.map_or_else(|| self.info.tag(die), |row| Some(self.rows.row(row).tag));
        let record = tag.and_then(keyword);
        if let Some(keyword) = record
            && let Some(declared) = self.by_name(die, row, keyword, (whole, number), depth)
        {
            return declared;
        }
        let of = |this: &mut Self, target: Option<Die>, whole: bool| target.map(|die| this.kind(die, whole, depth));
        match self.info.kind(die) {
            Kind::Base { name, size } => Kind::Base { name, size },
            Kind::Enumeration { name, size, .. } => {
                let name = name.map(|name| self.qualified(row, name));
                Kind::Enumeration { name, size, in_c: self.in_c }
            }
            Kind::Typedef { name, of: target } => {
                let name = self.qualified(row, name);
                Kind::Typedef { name, of: if whole { of(self, target, true) } else { None } }
            }
            Kind::Qualified { how, of: target } => Kind::Qualified { how, of: of(self, target, whole) },
            Kind::Pointer { name, to, size, sign } => {
                // Rust's pointers have names, which say it all.
                let to = if name.is_some() { None } else { of(self, to, false) };
                Kind::Pointer { name, to, size, sign }
            }
            Kind::Array { of: target, bounds, size } => Kind::Array { of: of(self, target, whole), bounds, size },
            Kind::Function { returns, parameters, variadic } => {
                let returns = of(self, returns, false);
                let parameters = parameters.into_iter().map(|target| of(self, target, false)).collect();
                Kind::Function { returns, parameters, variadic }
            }
            Kind::Record { record, .. } => {
                let mut record = record.map(|target| self.kind(target, true, depth));
                if self.is_rust {
                    record.forget_alignment();
                }
                record.name = record.name.map(|name| self.qualified(row, name));
                Kind::Record { record: Box::new(record), in_c: self.in_c }
            }
            Kind::Declared { keyword, name, .. } => Kind::Declared { keyword, name, in_c: self.in_c },
            Kind::Unknown => Kind::Unknown,
        }
    }

    /// What stands for a structure that need not be read here: its name is enough, or another unit has it.
    fn by_name(
        &mut self,
        die: Die,
        row: Option<usize>,
        keyword: Keyword,
        (whole, number): (bool, u32),
        depth: usize,
    ) -> Option<Kind<u32>> {
        let is_known = row.is_some_and(|row| !self.fresh.contains(&row) && self.rows.is_listed(row));
        // That a declaration's definition is elsewhere matters only where its members do, and finding it may take long.
        let is_skeleton = self.info.link(die, c::DW_AT_signature).is_some();
        let is_declaration = is_skeleton || self.info.flag(die, c::DW_AT_declaration);
        let definition = if is_skeleton || (whole && is_declaration) { self.info.definition(die) } else { die };
        let name = self.info.name(definition)?;
        if whole && definition != die {
            return self.info.record(definition).map(|record| self.copy(row, record, name, depth));
        }
        if whole && !is_known && !is_declaration {
            return None;
        }
        if whole && let Some(row) = row.filter(|_| is_known) {
            let hash = self.rows.identity(row);
            self.fragment.elsewhere.push((number, hash));
        }
        Some(Kind::Declared { keyword, name: self.qualified(row, name), in_c: self.in_c })
    }

    /// A definition of another unit, for a declaration of this. Each unit copies it anew: not as deep as its own.
    fn copy(&mut self, row: Option<usize>, record: crate::Record<Die>, name: String, depth: usize) -> Kind<u32> {
        let mut record = record.map(|target| self.kind(target, true, depth.min(DEEPEST / 4)));
        record.name = Some(self.qualified(row, name));
        Kind::Record { record: Box::new(record), in_c: self.in_c }
    }

    fn full_name(&mut self, row: usize) -> String {
        let name = self.info.name(self.rows.die(row)).unwrap_or_default();
        self.qualified(Some(row), name)
    }

    fn qualified(&mut self, row: Option<usize>, name: String) -> String {
        let around = row.and_then(|row| self.rows.around(row).next()).filter(|_| self.left > 0);
        let name = match around {
            Some(around) => format!("{}::{name}", self.scope(around, DEEPEST)),
            None => name,
        };
        self.left = self.left.saturating_sub(name.len() as u64);
        name
    }

    fn scope(&mut self, row: usize, depth: usize) -> String {
        if let Some(known) = self.scopes.get(&row) {
            return known.clone();
        }
        let name = self.info.name(self.rows.die(row)).unwrap_or_else(|| "{…}".to_owned());
        let outer = self.rows.around(row).next().filter(|_| depth > 0);
        let scope = match outer.map(|outer| self.scope(outer, depth - 1)) {
            Some(outer) => format!("{outer}::{name}"),
            None => name,
        };
        self.left = self.left.saturating_sub(scope.len() as u64);
        self.scopes.insert(row, scope.clone());
        scope
    }
}
