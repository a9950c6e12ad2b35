// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the registers hold, as far as can be told without running: a copy of an earlier value, plus a
//! constant. Tells which memory operands name the same place, and which are slots of the stack frame.
use crate::set::{PLACES, Place, SLOTS, Set, place};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use iced_x86::{Instruction, Mnemonic, Register};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    root: u32,
    offset: i64,
}

impl Value {
    /// A number that is known.
    pub fn absolute(number: u64) -> Value {
        Value { root: NOTHING, offset: number as i64 }
    }

    pub fn plus(self, by: i64) -> Value {
        Value { offset: self.offset.wrapping_add(by), ..self }
    }
}

/// An address: a base and a scaled index, both symbolic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    base: u32,
    index: u32,
    scale: u8,
    offset: i64,
}

impl Address {
    /// A register and a constant, and it may be a segment.
    pub fn is_direct(&self) -> bool {
        (self.base != NOTHING && self.index == NOTHING) || self.index == SEGMENT
    }

    /// An index, and whatever else.
    pub fn is_indexed(&self) -> bool {
        self.index != NOTHING && self.index != SEGMENT
    }
}

/// The stack pointer's root is its own number, as is every register's at first.
const RSP: Place = 4;
const NOTHING: u32 = u32::MAX;
const SEGMENT: u32 = u32::MAX - 1;
/// A realigned stack pointer is this far from the old one: its slots are slots, but none of the old.
const ELSEWHERE: i64 = 1 << 32;

pub struct Values {
    held: [Value; PLACES],
    roots: u32,
    /// What loads of words that nothing has changed since gave.
    loaded: BTreeMap<Address, Value>,
    /// What instructions gave, by their mnemonic and constant and by what they computed with.
    computed: BTreeMap<(u16, u64, [Value; 2]), Value>,
    slots: Vec<i64>,
    hooked: Vec<i64>,
}

impl Values {
    pub fn new() -> Values {
        let held = core::array::from_fn(|place| Value { root: place as u32, offset: 0 });
        Values {
            held,
            roots: PLACES as u32,
            loaded: BTreeMap::new(),
            computed: BTreeMap::new(),
            slots: Vec::new(),
            hooked: Vec::new(),
        }
    }

    pub fn of(&self, register: Register) -> Option<Value> {
        place(register).map(|place| self.held[usize::from(place)])
    }

    pub fn at(&self, place: Place) -> Value {
        self.held[usize::from(place)]
    }

    pub fn set(&mut self, place: Place, value: Value) {
        self.held[usize::from(place)] = value;
    }

    /// The number that the register holds, if that is known.
    pub fn number(&self, register: Register) -> Option<u64> {
        self.of(register).filter(|value| value.root == NOTHING).map(|value| value.offset as u64)
    }

    /// The places now hold something unknown. The stack pointer stays a stack pointer.
    pub fn forget(&mut self, places: Set) {
        for place in places.iter() {
            let fresh = if place == RSP {
                Value { root: u32::from(RSP), offset: self.at(RSP).offset.wrapping_sub(ELSEWHERE) }
            } else {
                self.roots += 1;
                Value { root: self.roots, offset: 0 }
            };
            self.set(place, fresh);
        }
    }

    /// What a load of the word gives: what the last one gave, if nothing has written there since.
    pub fn load(&mut self, address: Address) -> Value {
        self.roots += 1;
        *self.loaded.entry(address).or_insert(Value { root: self.roots, offset: 0 })
    }

    /// What an instruction gives that computes with `of` and `constant`: the same as the last time.
    pub fn compute(&mut self, mnemonic: Mnemonic, constant: u64, of: [Value; 2]) -> Value {
        self.roots += 1;
        let fresh = Value { root: self.roots, offset: 0 };
        *self.computed.entry((mnemonic as u16, constant, of)).or_insert(fresh)
    }

    /// Something is written there: to that word or to part of it. Words that are named otherwise are others.
    pub fn store(&mut self, address: Address) {
        let apart = |other: &Address| {
            Address { offset: 0, ..*other } != Address { offset: 0, ..address }
                || address.offset.abs_diff(other.offset) >= 8
        };
        self.loaded.retain(|other, _| apart(other));
    }

    /// Code that is not followed may write anywhere.
    pub fn forget_loads(&mut self) {
        self.loaded.clear();
    }

    pub fn move_stack(&mut self, bytes: i64) {
        self.held[usize::from(RSP)].offset += bytes;
    }

    /// A hook was called with the address in rdi: an access of the program follows there.
    pub fn hook_access(&mut self) {
        if let Some(Value { root, offset }) = self.of(Register::RDI)
            && root == u32::from(RSP)
        {
            self.hooked.push(offset);
        }
    }

    /// What the register points at.
    pub fn pointed(&self, register: Register) -> Option<Address> {
        let Value { root, offset } = self.of(register)?;
        Some(Address { base: root, index: NOTHING, scale: 1, offset })
    }

    pub fn address(&self, instruction: &Instruction) -> Address {
        let displacement = instruction.memory_displacement64() as i64;
        let mut address = Address { base: NOTHING, index: NOTHING, scale: 1, offset: displacement };
        if let Some(base) = self.of(instruction.memory_base()) {
            address.base = base.root;
            address.offset = address.offset.wrapping_add(base.offset);
        }
        if let Some(index) = self.of(instruction.memory_index()) {
            let scale = instruction.memory_index_scale() as u8;
            (address.index, address.scale) = (index.root, scale);
            address.offset = address.offset.wrapping_add(index.offset.wrapping_mul(i64::from(scale)));
        }
        if instruction.has_segment_prefix() {
            address.index = SEGMENT;
        }
        address
    }

    /// The slot at `address`, if that is one the compiler made: the program's own locals on the stack are
    /// reached through hooks or with an index.
    pub fn slot(&mut self, address: Address) -> Option<Place> {
        let frame = address.base == u32::from(RSP) && address.index == NOTHING;
        if !frame || self.hooked.contains(&address.offset) {
            return None;
        }
        let known = self.slots.iter().position(|&offset| offset == address.offset);
        if known.is_none() && self.slots.len() < PLACES - usize::from(SLOTS) {
            self.slots.push(address.offset);
        }
        let number = known.unwrap_or(self.slots.len() - 1);
        Some(SLOTS + number as Place)
    }

    /// The slot that the stack pointer points at.
    pub fn top(&mut self) -> Option<Place> {
        let Value { root, offset } = self.at(RSP);
        self.slot(Address { base: root, index: NOTHING, scale: 1, offset })
    }
}
