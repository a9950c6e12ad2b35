// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an offset in an object to the field there: `.slots[3].delta`.
use super::part::{Element, Part, Structure};
use super::{Debug, Die};
use crate::rust;
use corefold_dwarf::Record;
use gimli::constants as c;
use std::cell::Cell;
use std::rc::Rc;

type Member = corefold_dwarf::Member<Die>;

/// A walk from an object's type down to a part of it.
struct Walk {
    path: String,
    kind: Die,
    /// Of `kind`, in the object.
    offset: u64,
    size: u64,
}

enum Step {
    Into(Walk),
    /// Several parts are touched; this says which.
    Across(String),
    End,
}

impl Debug {
    /// The part of a `kind` that an access of `bytes` at `offset` touches.
    pub fn part_at(&self, kind: Die, offset: u64, bytes: u64) -> Part {
        let key = (kind, offset, bytes);
        let found = self.parts.borrow().get(&key).cloned();
        found.unwrap_or_else(|| {
            let part = self.part_within(kind, offset, bytes, &Cell::new(MOST_STEPS));
            let mut parts = self.parts.borrow_mut();
            if let Some(element) = part.elements.first() {
                parts.insert((element.kind, offset - element.offset, bytes), part.of(element));
            }
            parts.insert(key, part.clone());
            part
        })
    }

    /// What is known of the part from an element of an array on: other elements have been touched alike.
    fn known_from(&self, element: &Walk, offset: u64, bytes: u64) -> Option<Part> {
        let parts = self.parts.borrow();
        let known = parts.get(&(element.kind, offset - element.offset, bytes))?;
        Some(known.clone().within(&element.path, element.kind, element.offset, element.size))
    }

    fn part_within(&self, kind: Die, offset: u64, bytes: u64, left: &Cell<u32>) -> Part {
        let mut walk = Walk { path: String::new(), kind, offset: 0, size: self.size_of(kind).unwrap_or(0) };
        let mut elements = Vec::new();
        let mut lock = None;
        // Deeper nesting than this is a type that contains itself: broken debug information.
        for _ in 0..24 {
            left.set(left.get().saturating_sub(1));
            lock = self.rust_lock(walk.kind).filter(|_| !self.is_guarded(walk.kind, offset - walk.offset, bytes));
            let ends = left.get() == 0 || lock.is_some() || self.is_opaque(walk.kind);
            let step = if ends { Step::End } else { self.step(&walk, offset, bytes.max(1), left) };
            match step {
                Step::Into(next) => {
                    if self.tag(self.strip(walk.kind)) == Some(c::DW_TAG_array_type) {
                        if let Some(mut known) = self.known_from(&next, offset, bytes) {
                            known.elements.splice(0..0, elements);
                            return known;
                        }
                        let Walk { kind, offset, size, .. } = next;
                        elements.push(Element { path_length: next.path.len(), kind, offset, size });
                    }
                    walk = next;
                }
                Step::Across(names) => {
                    walk.path.push_str(&names);
                    (walk.offset, walk.size) = (offset, bytes);
                    break;
                }
                Step::End => break,
            }
        }
        let Walk { path, kind, offset, size } = walk;
        Part { path, type_name: rust::type_name(self, kind), offset, size, kind, elements, lock }
    }

    fn step(&self, walk: &Walk, offset: u64, bytes: u64, left: &Cell<u32>) -> Step {
        let kind = self.strip(walk.kind);
        let from = offset - walk.offset;
        match self.tag(kind) {
            Some(c::DW_TAG_structure_type | c::DW_TAG_class_type) => self.step_struct(walk, kind, from, bytes, left),
            Some(c::DW_TAG_union_type) => self.step_union(walk, kind, from, bytes, left),
            Some(c::DW_TAG_array_type) => self.step_array(walk, kind, from, bytes),
            _ => Step::End,
        }
    }

    fn structure(&self, kind: Die) -> Option<Rc<Structure>> {
        let read = || {
            let record = self.record(kind)?;
            let occupied = self.occupied(&record).cloned().collect();
            Some(Rc::new(Structure { record, occupied, is_flexible: self.is_flexible(kind) }))
        };
        self.structures.borrow_mut().entry(kind).or_insert_with(read).clone()
    }

    fn step_struct(&self, walk: &Walk, kind: Die, from: u64, bytes: u64, left: &Cell<u32>) -> Step {
        if let Some(stored) = self.stored_type(kind) {
            return Step::Into(self.stored(walk, stored));
        }
        let Some(known) = self.structure(kind) else {
            return Step::End;
        };
        if known.record.variants.is_some() {
            return self.step_variants(walk, &known.record, from, bytes, left);
        }
        // Only an object as a whole can be longer than its type.
        let beyond = walk.offset == 0 && from + bytes > walk.size && known.is_flexible;
        let open = known.occupied.last().filter(|_| beyond).map(|last| Member { size: None, ..last.clone() });
        let closed = &known.occupied[..known.occupied.len() - usize::from(open.is_some())];
        let met: Vec<&Member> = closed.iter().chain(&open).filter(|member| member.meets(from, bytes)).collect();
        match met.as_slice() {
            [] if from == 0 && bytes >= walk.size => Step::End,
            [] if from >= walk.size => Step::Across(format!("+{from:#x}")),
            [] => Step::Across(format!("+{from:#x} (padding)")),
            [member] if member.holds(from, bytes) || member.bits.is_some() => {
                Step::Into(self.step_into(walk, member, self.is_transparent(kind)))
            }
            // The whole structure is copied or cleared at once.
            _ if from == 0 && bytes >= walk.size => Step::End,
            several => Step::Across(span_name(several)),
        }
    }

    /// In a Rust enumeration: the field of the only variant that has one there, or all that it may be.
    fn step_variants(&self, walk: &Walk, record: &Record<Die>, from: u64, bytes: u64, left: &Cell<u32>) -> Step {
        let Some(variants) = &record.variants else {
            return Step::End;
        };
        if from == 0 && bytes >= record.size && record.size > 0 {
            return Step::End;
        }
        let all = variants.list.iter().flat_map(|variant| &variant.members);
        let there =
            |member: &&Member| member.holds(from, bytes) && self.has_field(member.kind, from - member.offset, bytes);
        let found: Vec<&Member> = all.filter(there).collect();
        match found.as_slice() {
            [member] => Step::Into(self.step_into(walk, member, false)),
            [] if variants.tag.as_ref().is_some_and(|tag| tag.holds(from, bytes)) => Step::Across(".(tag)".to_owned()),
            [] if from >= record.size => Step::Across(format!("+{from:#x}")),
            [] => Step::Across(format!("+{from:#x} (padding)")),
            several => {
                let one = |member: &&Member| {
                    let part = self.part_within(member.kind, from - member.offset, bytes, left);
                    format!("{}{}", member.name.as_deref().unwrap_or("{…}"), part.path)
                };
                let shown: Vec<String> = several.iter().take(MOST_VARIANTS).map(one).collect();
                let more = if several.len() > MOST_VARIANTS { "|…" } else { "" };
                Step::Across(format!(".{{{}{more}}}", shown.join("|")))
            }
        }
    }

    /// Whether a variant's structure has a field where the access is.
    fn has_field(&self, kind: Die, offset: u64, bytes: u64) -> bool {
        let record = self.record(self.strip(kind));
        record.is_none_or(|record| record.variants.is_some() || self.occupied(&record).any(|m| m.meets(offset, bytes)))
    }

    /// The value in raw storage, without the library's wrappers.
    fn stored(&self, walk: &Walk, kind: Die) -> Walk {
        let path = walk.path.trim_end_matches("._M_storage").trim_end_matches("._M_impl").to_owned();
        let size = self.size_of(kind).unwrap_or(walk.size);
        Walk { path, kind, offset: walk.offset, size }
    }

    fn step_union(&self, walk: &Walk, kind: Die, from: u64, bytes: u64, left: &Cell<u32>) -> Step {
        let Some(record) = self.record(kind) else {
            return Step::End;
        };
        let all = || self.occupied(&record).filter(|member| member.holds(from, bytes));
        // Bytes beside a structure are there to pad it, not to be used.
        let is_structure = |member: &&Member| self.tag(self.strip(member.kind)) == Some(c::DW_TAG_structure_type);
        let has_structure = all().any(|member| is_structure(&member));
        let holding = || all().filter(|member| !has_structure || !self.is_bytes(member.kind));
        let exact = |member: &&Member| {
            let part = self.part_within(member.kind, from - member.offset, bytes, left);
            part.offset + member.offset == from && part.size == bytes
        };
        match holding().find(exact).or_else(|| holding().next()) {
            Some(member) => Step::Into(self.step_into(walk, member, false)),
            None => Step::End,
        }
    }

    fn is_bytes(&self, kind: Die) -> bool {
        let kind = self.strip(kind);
        let is_array = self.tag(kind) == Some(c::DW_TAG_array_type);
        is_array && self.link(kind, c::DW_AT_type).is_some_and(|element| self.size_of(element) == Some(1))
    }

    fn step_into(&self, walk: &Walk, member: &Member, hide: bool) -> Walk {
        let path = match &member.name {
            Some(name) if !hide => format!("{}.{}", walk.path, name.trim_start_matches("__")),
            _ => walk.path.clone(),
        };
        Walk { path, kind: member.kind, offset: walk.offset + member.offset, size: member.size.unwrap_or(0) }
    }

    fn step_array(&self, walk: &Walk, kind: Die, from: u64, bytes: u64) -> Step {
        let Some(element) = self.link(kind, c::DW_AT_type) else {
            return Step::End;
        };
        let Some(size) = self.size_of(element).filter(|size| *size > 0) else {
            return Step::End;
        };
        let (first, last) = (from / size, (from + bytes - 1) / size);
        let bounds = self.bounds(kind);
        if first != last {
            let whole = walk.size != 0 && from == 0 && bytes >= walk.size;
            return if whole { Step::End } else { Step::Across(format!("[{first}-{last}]")) };
        }
        let path = format!("{}{}", walk.path, subscripts(&bounds, first));
        Step::Into(Walk { path, kind: element, offset: walk.offset + first * size, size })
    }
}

/// Where all members of a union are looked into, a union that contains itself would never end.
const MOST_STEPS: u32 = 10_000;

/// So many are named of the variants of a Rust enumeration that an access may be to.
const MOST_VARIANTS: usize = 3;

/// `.first…last`, or `.{a,b}` for bits that share bytes; `.only` of one member and the padding around it.
fn span_name(members: &[&Member]) -> String {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_deref().unwrap_or("{…}")).collect();
    if let [only] = names.as_slice() {
        return format!(".{}", only.trim_start_matches("__"));
    }
    if members.iter().all(|member| member.bits.is_some()) {
        return format!(".{{{}}}", names.join(","));
    }
    format!(".{}…{}", names[0], names[names.len() - 1])
}

/// `[2][5]` for the element `flat` of an array with these bounds.
fn subscripts(bounds: &[Option<u64>], flat: u64) -> String {
    let mut rest = flat;
    let mut subscripts = Vec::new();
    for bound in bounds.iter().skip(1).rev() {
        let bound = bound.unwrap_or(1);
        subscripts.push(rest % bound);
        rest /= bound;
    }
    subscripts.push(rest);
    subscripts.iter().rev().map(|subscript| format!("[{subscript}]")).collect()
}

#[cfg(test)]
mod tests {
    use super::subscripts;

    #[test]
    fn the_last_subscript_runs_fastest() {
        assert_eq!(subscripts(&[Some(3), Some(4)], 7), "[1][3]");
        assert_eq!(subscripts(&[None], 7), "[7]");
    }
}
