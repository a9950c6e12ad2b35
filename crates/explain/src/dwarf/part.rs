// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of an object, as an access touches it.
use corefold_dwarf::{Die, Member, Record};

/// The smallest part of an object that holds all bytes of an access.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// From the object on: `.slots[3].delta`, `[3]`, or nothing for the object itself.
    pub path: String,
    pub type_name: String,
    pub offset: u64,
    pub size: u64,
    pub kind: Die,
    /// The elements of arrays that it lies in, outer before inner.
    pub elements: Vec<Element>,
    /// What the part is called if it is a lock of Rust, whose own parts are internal: `Mutex`.
    pub lock: Option<String>,
}

/// An element of an array on the way from an object to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// So much of the path names it.
    pub path_length: usize,
    pub kind: Die,
    pub offset: u64,
    pub size: u64,
}

/// What is read of a structure once, for all its objects.
pub struct Structure {
    pub record: Record<Die>,
    /// Its members that have a size.
    pub occupied: Vec<Member<Die>>,
    pub is_flexible: bool,
}

impl Part {
    /// The same, as a part of an element that it lies in.
    pub fn of(&self, element: &Element) -> Part {
        let inner = |inner: &&Element| inner.path_length > element.path_length;
        let moved = |inner: &Element| Element {
            path_length: inner.path_length - element.path_length,
            offset: inner.offset - element.offset,
            ..*inner
        };
        Part {
            path: self.path[element.path_length..].to_owned(),
            offset: self.offset - element.offset,
            elements: self.elements.iter().filter(inner).map(moved).collect(),
            ..self.clone()
        }
    }

    /// The same as a part of an array, whose element at `offset`, named by `path`, it was a part of.
    pub fn within(mut self, path: &str, kind: Die, offset: u64, size: u64) -> Part {
        for element in &mut self.elements {
            element.path_length += path.len();
            element.offset += offset;
        }
        self.elements.insert(0, Element { path_length: path.len(), kind, offset, size });
        Part { path: path.to_owned() + &self.path, offset: self.offset + offset, ..self }
    }
}
