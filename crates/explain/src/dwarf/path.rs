// SPDX-License-Identifier: MIT OR Apache-2.0
//! From an offset in an object to the field there: `.slots[3].delta`.
use super::member::Member;
use super::{Debug, Die};
use gimli::constants as c;

/// The smallest part of an object that holds all bytes of an access.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// From the object on: `.slots[3].delta`, `[3]`, or nothing for the object itself.
    pub path: String,
    pub type_name: String,
    pub offset: u64,
    pub size: u64,
    pub kind: Die,
}

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
        let mut walk = Walk { path: String::new(), kind, offset: 0, size: self.size_of(kind).unwrap_or(0) };
        // Deeper nesting than this is a type that contains itself: broken debug information.
        for _ in 0..24 {
            let step = if self.is_opaque(walk.kind) { Step::End } else { self.step(&walk, offset, bytes.max(1)) };
            match step {
                Step::Into(next) => walk = next,
                Step::Across(names) => {
                    walk.path.push_str(&names);
                    (walk.offset, walk.size) = (offset, bytes);
                    break;
                }
                Step::End => break,
            }
        }
        let Walk { path, kind, offset, size } = walk;
        Part { path, type_name: self.type_name(kind), offset, size, kind }
    }

    fn step(&self, walk: &Walk, offset: u64, bytes: u64) -> Step {
        let kind = self.strip(walk.kind);
        let from = offset - walk.offset;
        match self.tag(kind) {
            Some(c::DW_TAG_structure_type | c::DW_TAG_class_type) => self.step_struct(walk, kind, from, bytes),
            Some(c::DW_TAG_union_type) => self.step_union(walk, kind, from, bytes),
            Some(c::DW_TAG_array_type) => self.step_array(walk, kind, from, bytes),
            _ => Step::End,
        }
    }

    fn step_struct(&self, walk: &Walk, kind: Die, from: u64, bytes: u64) -> Step {
        if let Some(stored) = self.stored_type(kind) {
            return Step::Into(self.stored(walk, stored));
        }
        let mut members = self.members(kind);
        // Only an object as a whole can be longer than its type.
        let beyond = walk.offset == 0 && from + bytes > walk.size && self.is_flexible(kind);
        if let Some(last) = members.last_mut().filter(|_| beyond) {
            last.size = None;
        }
        let met: Vec<&Member> = members.iter().filter(|member| member.meets(from, bytes)).collect();
        match met.as_slice() {
            [] if from == 0 && bytes >= walk.size => Step::End,
            // Past the type's end, or in a variant of a Rust enumeration.
            [] if from >= walk.size || self.has_variants(kind) => Step::Across(format!("+{from:#x}")),
            [] => Step::Across(format!("+{from:#x} (padding)")),
            [member] if member.holds(from, bytes) || member.is_bits => {
                Step::Into(self.step_into(walk, member, self.is_transparent(kind)))
            }
            // The whole structure is copied or cleared at once.
            _ if from == 0 && bytes >= walk.size => Step::End,
            several => Step::Across(span_name(several)),
        }
    }

    /// The value in raw storage, without the library's wrappers.
    fn stored(&self, walk: &Walk, kind: Die) -> Walk {
        let path = walk.path.trim_end_matches("._M_storage").trim_end_matches("._M_impl").to_owned();
        let size = self.size_of(kind).unwrap_or(walk.size);
        Walk { path, kind, offset: walk.offset, size }
    }

    fn step_union(&self, walk: &Walk, kind: Die, from: u64, bytes: u64) -> Step {
        let members = self.members(kind);
        let all = || members.iter().filter(|member| member.holds(from, bytes));
        // Bytes beside a structure are there to pad it, not to be used.
        let is_structure = |member: &&Member| self.tag(self.strip(member.kind)) == Some(c::DW_TAG_structure_type);
        let has_structure = all().any(|member| is_structure(&member));
        let holding = || all().filter(|member| !has_structure || !self.is_bytes(member.kind));
        let exact = |member: &&Member| {
            let part = self.part_at(member.kind, from - member.offset, bytes);
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

/// `.first…last`, or `.{a,b}` for bits that share bytes.
fn span_name(members: &[&Member]) -> String {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_deref().unwrap_or("{…}")).collect();
    if members.iter().all(|member| member.is_bits) {
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
