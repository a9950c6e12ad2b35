// SPDX-License-Identifier: MIT OR Apache-2.0
//! How an object is made up: one value of a type, or a row of them.
use crate::dwarf::part::Part;
use crate::dwarf::{Debug, Die};
use crate::rust;

/// The make-up of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    pub element: Element,
    /// `None`: a single value, perhaps with a flexible array at its end.
    pub count: Option<u64>,
    /// Where the first element begins: `new T[n]` keeps `n` before it if elements need destruction; a hash table of Rust
    /// pads them.
    pub start: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Element {
    Value(Die),
    /// Pointers to a type, for which the debug information need not have an entry.
    Pointer(Die),
}

impl Layout {
    pub fn single(kind: Die) -> Layout {
        Layout { element: Element::Value(kind), count: None, start: 0 }
    }

    /// The type of the object, or of its elements; none if these are pointers, or shared.
    pub fn value(&self) -> Option<Die> {
        match self.element {
            Element::Value(kind) if self.start == 0 => Some(kind),
            _ => None,
        }
    }

    /// `struct slot[80]`.
    pub fn type_name(&self, debug: &Debug) -> String {
        let element = match self.element {
            Element::Value(kind) => match debug.shared_value(kind) {
                Some(value) => format!("{} (shared)", debug.type_name(value)),
                None => rust::type_name(debug, kind),
            },
            Element::Pointer(kind) => format!("{} *", rust::type_name(debug, kind)),
        };
        self.count.map_or(element.clone(), |count| format!("{element}[{count}]"))
    }

    /// What the names of its fields begin with: `slot`.
    pub fn short_name(&self, debug: &Debug) -> String {
        match self.element {
            Element::Value(kind) => rust::short_name(debug, debug.shared_value(kind).unwrap_or(kind)),
            Element::Pointer(kind) => format!("({} *)", rust::short_name(debug, kind)),
        }
    }

    /// The part that `bytes` at `offset` of the object touch.
    pub fn part(&self, debug: &Debug, offset: u64, bytes: u64) -> Part {
        let (kind, size) = match self.element {
            Element::Value(kind) => (kind, debug.size_of(kind).unwrap_or(0)),
            Element::Pointer(kind) => (kind, 8),
        };
        let (path, elements) = (String::new(), Vec::new());
        let whole = || Part { path, type_name: self.type_name(debug), offset: 0, size: 0, kind, elements, lock: None };
        let Some(from) = offset.checked_sub(self.start) else {
            return Part { path: format!("+{offset:#x} (array length)"), offset, size: bytes, ..whole() };
        };
        if self.count.is_none() || size == 0 {
            return self.element_part(debug, from, bytes);
        }
        let (first, last) = (from / size, (from + bytes.max(1) - 1) / size);
        if self.count.is_some_and(|count| first >= count) {
            return Part { path: format!("+{offset:#x} (behind the elements)"), offset, size: bytes, ..whole() };
        }
        if first != last {
            let (offset, size) = (self.start + first * size, (last - first + 1) * size);
            return Part { path: format!("[{first}-{last}]"), offset, size, ..whole() };
        }
        self.element_part(debug, from % size, bytes).within(
            &format!("[{first}]"),
            kind,
            self.start + first * size,
            size,
        )
    }

    fn element_part(&self, debug: &Debug, offset: u64, bytes: u64) -> Part {
        match self.element {
            Element::Value(kind) => debug.part_at(kind, offset, bytes),
            Element::Pointer(kind) => {
                let type_name = format!("{} *", debug.type_name(kind));
                Part { path: String::new(), type_name, offset: 0, size: 8, kind, elements: Vec::new(), lock: None }
            }
        }
    }
}
