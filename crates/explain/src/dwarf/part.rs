// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of an object, as an access touches it.
use corefold_dwarf::Die;

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
