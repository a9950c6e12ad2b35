// SPDX-License-Identifier: MIT OR Apache-2.0
//! A structure's fields, those of structures inside too, by path: `i_data.i_mmap_rwsem.count`.
use corefold_dwarf::{Kind, Member, Record, Role, TypeId, Types};

/// A field that has no fields; an array is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    pub path: String,
    pub type_name: String,
    pub offset: u64,
    pub size: u64,
}

/// Structures in structures deeper than this are circles.
const DEEPEST: usize = 24;

/// How much may still be visited, and made of names: types that contain each other many times have no end of fields.
struct Left {
    members: usize,
    bytes: usize,
}

impl Leaf {
    /// The first and last line that it is on, where its object begins `at` bytes after a line does.
    pub fn lines(&self, at: u64, line: u64) -> (u64, u64) {
        let first = at.saturating_add(self.offset);
        (first / line, first.saturating_add(self.size.max(1) - 1) / line)
    }
}

/// In the order of memory; fields of unions and variants share their places.
pub fn leaves(types: &Types, record: &Record<TypeId>) -> Vec<Leaf> {
    let mut found = Vec::new();
    let mut left = Left { members: 20_000, bytes: 8 << 20 };
    add(types, record, ("", 0), DEEPEST, &mut left, &mut found);
    found.sort_by(|a: &Leaf, b: &Leaf| (a.offset, &a.path).cmp(&(b.offset, &b.path)));
    found
}

fn add(
    types: &Types,
    record: &Record<TypeId>,
    (path, base): (&str, u64),
    depth: usize,
    left: &mut Left,
    found: &mut Vec<Leaf>,
) {
    for member in record.all_members() {
        let name = member.name.as_ref().map_or(0, String::len);
        let (Some(members), Some(bytes)) = (left.members.checked_sub(1), left.bytes.checked_sub(path.len() + name))
        else {
            return;
        };
        *left = Left { members, bytes };
        let name = match (member.role, member.name.as_deref()) {
            (Role::Base, _) | (_, None) => path.to_owned(),
            (_, Some(name)) if path.is_empty() => name.to_owned(),
            (_, Some(name)) => format!("{path}.{name}"),
        };
        let offset = base.saturating_add(member.offset);
        match inner(types, member).filter(|_| depth > 0) {
            Some(inner) => add(types, inner, (&name, offset), depth - 1, left, found),
            None if member.size == Some(0) => {}
            None => {
                let type_name = types.name(Some(member.kind));
                // A flexible array begins here.
                found.push(Leaf { path: name, type_name, offset, size: member.size.unwrap_or(0) });
            }
        }
    }
}

/// The structure that a member is, if it has fields.
fn inner<'a>(types: &'a Types, member: &Member<TypeId>) -> Option<&'a Record<TypeId>> {
    match types.kind(types.strip(member.kind)?) {
        Kind::Record { record, .. } if member.bits.is_none() => {
            Some(&**record).filter(|record| record.all_members().next().is_some())
        }
        _ => None,
    }
}
