// SPDX-License-Identifier: MIT OR Apache-2.0
//! A layout that is worth a trial.
use super::order::Reorder;
use super::unit::Unit;
use corefold_explain::{Declared, ObjectUse, Parting, Storage, Undeclared};
use serde::Serialize;

/// glibc's heap aligns objects so, and maps larger ones by themselves.
const HEAP_GRAIN: u64 = 16;
const HEAP_LARGE: u64 = 128 << 10;

/// Parts of a unit that is laid out, and its new stride.
pub type Layout = (Vec<(u64, u64, u64)>, u64);

/// A layout that separates something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The object, as reports name it.
    pub object: String,
    /// `shared.beside on a line of its own`
    pub layout: String,
    /// Of the objects one, as recorded.
    pub address: u64,
    pub bytes: u64,
    pub is_heap: bool,
    /// Bytes from one place on a line where such an object may begin to the next; 0 if its place is no luck.
    pub slot_step: u64,
    /// The most objects that there were at once.
    pub live: u64,
    /// Bytes of the unit that is laid out, and of its parts in their new layout.
    pub stride: u64,
    pub new_stride: u64,
    /// Offset, bytes, and new offset of each part, ascending.
    pub parts: Vec<(u64, u64, u64)>,
    /// What each object grows by, at most.
    pub more_bytes: u64,
    /// Offset and size of the elements of an array within the unit, if these are parted.
    #[serde(skip)]
    pub element: Option<(u64, u64)>,
    /// Whether CPUs fetched the line that such an object begins on for something else, which comes before it.
    #[serde(skip)]
    pub follows: bool,
    /// Members that change places.
    #[serde(skip)]
    pub reorder: Option<Reorder>,
    /// The structures that it cuts, as the source declares them.
    #[serde(skip)]
    pub declared: Result<Vec<Declared>, Undeclared>,
}

impl Candidate {
    /// Whether it parts the elements of an array: the object, or one within it.
    pub fn is_of_elements(&self) -> bool {
        self.element.is_some() || self.stride < self.bytes
    }

    /// Whether the source can be changed so: always, but for members in another order that a compiler would place otherwise.
    pub fn is_compilable(&self) -> bool {
        match (&self.reorder, self.declared.as_deref()) {
            (Some(reorder), Ok([structure])) => reorder.is_compiled_so(self.stride, structure),
            _ => true,
        }
    }

    /// Where it cuts the unit that is laid out.
    pub fn parting(&self) -> Parting {
        if let Some(reorder) = &self.reorder {
            let cuts = reorder.cuts();
            return Parting { address: self.address, bytes: self.stride, element: None, cuts };
        }
        let is_whole = |from: u64, to: u64| {
            let before = self.parts.iter().find(|(begin, bytes, _)| begin + bytes == from);
            before.is_some_and(|(_, bytes, start)| start + bytes == to)
        };
        let begins = self.parts.iter().filter(|(from, _, to)| !is_whole(*from, *to)).map(|(from, ..)| *from);
        let follows = |end: u64| self.parts.iter().any(|(from, ..)| *from == end);
        let ends = self.parts.iter().map(|(from, bytes, _)| from + bytes).filter(|end| !follows(*end));
        let mut cuts: Vec<u64> = begins.chain(ends).collect();
        cuts.sort_unstable();
        Parting { address: self.address, bytes: self.stride, element: self.element, cuts }
    }
}

impl Unit<'_> {
    pub fn candidate(&self, layout: String, stride: u64, parts: Vec<(u64, u64, u64)>) -> Candidate {
        let used = parts.last().map_or(0, |(_, bytes, to)| to + bytes);
        let new_stride = used.next_multiple_of(self.line_bytes);
        let moved: u64 = parts.iter().map(|(_, bytes, _)| bytes).sum();
        Candidate {
            object: self.object.name.clone(),
            layout,
            address: self.object.address,
            bytes: self.object.bytes,
            is_heap: self.object.storage == Storage::Heap,
            slot_step: self.slot_step(),
            live: 1,
            stride,
            new_stride,
            more_bytes: (new_stride - moved.min(new_stride)) * (self.object.bytes / stride).max(1),
            parts,
            element: None,
            follows: false,
            reorder: None,
            declared: Err(Undeclared::Untyped),
        }
    }

    /// Bytes from one place on a line where the object may begin to the next; 0 if its place is no luck.
    fn slot_step(&self) -> u64 {
        let ObjectUse { storage, stride, bytes, .. } = *self.object;
        let step = match storage {
            Storage::Heap if bytes < HEAP_LARGE => HEAP_GRAIN,
            Storage::Slab => gcd(stride, self.line_bytes),
            _ => 0,
        };
        if step < self.line_bytes && self.stride == bytes { step } else { 0 }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
