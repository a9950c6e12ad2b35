// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory by byte, and the tags of lines.
use corefold_model::Tag;
use corefold_sim::{Memory, Tags};
use std::cell::Cell;
use std::collections::HashMap;

#[derive(Default)]
pub struct World {
    bytes: HashMap<u64, u8>,
    tags: HashMap<u64, Cell<Tag>>,
    /// The bytes of the page at the first address are kept at the second.
    pub elsewhere: Option<(u64, u64)>,
}

impl Memory for World {
    fn read(&self, address: u64, size: u8) -> u64 {
        let byte = |at: u8| u64::from(*self.bytes.get(&(address + u64::from(at))).unwrap_or(&0));
        (0..size).map(|at| byte(at) << (8 * at)).sum()
    }
    fn write(&mut self, address: u64, size: u8, value: u64) {
        self.bytes.extend((0..size).map(|at| (address + u64::from(at), (value >> (8 * at)) as u8)));
    }
    fn held_at(&self, address: u64) -> u64 {
        let moved = self.elsewhere.filter(|(page, _)| address.wrapping_sub(*page) < 4096);
        moved.map_or(address, |(page, kept)| address - page + kept)
    }
}

impl Tags for World {
    fn tag(&mut self, address: u64) -> &Cell<Tag> {
        self.tags.entry(address / 64).or_insert(Cell::new(Tag::UNTOUCHED))
    }
}
