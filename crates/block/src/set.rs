// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places that instructions read and write, and sets of them.
use iced_x86::Register;

/// A register, the flags, or a stack slot that the compiler spills to.
pub type Place = u8;

pub const FLAGS: Place = 48;
const X87: Place = 49;
const MASKS: Place = 50;
/// Stack slots are numbered from here as they are met.
pub const SLOTS: Place = 64;
pub const PLACES: usize = 128;

/// The place of a register, whatever part of it is meant; none for segments and the instruction pointer.
pub fn place(register: Register) -> Option<Place> {
    let full = register.full_register();
    let number = full.number() as Place;
    if full.is_gpr() {
        Some(number)
    } else if full.is_vector_register() {
        Some(16 + number)
    } else if full.is_st() || full.is_mm() {
        Some(X87)
    } else if full.is_k() {
        Some(MASKS)
    } else {
        None
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set(u128);

impl Set {
    pub const EMPTY: Set = Set(0);
    pub const ALL: Set = Set(!0);
    /// rax, rcx, rdx, rsi, rdi, r8 to r11, the flags and all vector registers.
    pub const CALLER_SAVED: Set = Set(0b1111_1100_0111 | 0xffff_ffff << 16 | 1 << FLAGS | 1 << X87 | 1 << MASKS);
    /// The others but the stack pointer: rbx, rbp, r12 to r15.
    pub const KEPT: Set = Set(0b1111_0000_0010_1000);
    /// rdi, rsi, rdx, rcx, r8, r9, rax (the count of vector arguments) and xmm0 to xmm7.
    pub const ARGUMENTS: Set = Set(0b11_1100_0111 | 0xff << 16);
    /// rdi: the address that a hook takes.
    pub const ADDRESS: Set = Set(0b1000_0000);
    /// rsi: the value that the hook of an atomic store takes.
    pub const VALUE: Set = Set(0b100_0000);
    /// rsi, rdx: the values that an atomic hook takes.
    pub const ATOMIC_OPERANDS: Set = Set(0b100_0100);

    pub const fn one(place: Place) -> Set {
        Set(1 << place)
    }
    pub fn insert(&mut self, place: Place) {
        self.0 |= 1 << place;
    }
    pub fn contains(self, place: Place) -> bool {
        self.0 & 1 << place != 0
    }
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    pub fn union(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }
    pub fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }
    pub fn meets(self, other: Set) -> bool {
        self.0 & other.0 != 0
    }
    pub fn iter(self) -> impl Iterator<Item = Place> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let place = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (place < 128).then_some(place as Place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_register_are_one_place() {
        assert_eq!(place(Register::AL), place(Register::RAX));
        assert_eq!(place(Register::R12D), Some(12));
        assert_eq!(place(Register::YMM3), place(Register::XMM3));
        assert_eq!(place(Register::RIP), None);
    }

    #[test]
    fn calls_keep_what_the_abi_says() {
        let kept: alloc::vec::Vec<_> = (0..16).filter(|&r| !Set::CALLER_SAVED.contains(r)).collect();
        let names =
            [Register::RBX, Register::RSP, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];
        assert_eq!(kept, names.map(|r| place(r).unwrap()));
        assert!(Set::ATOMIC_OPERANDS.contains(place(Register::RSI).unwrap()));
        assert!(Set::ATOMIC_OPERANDS.contains(place(Register::RDX).unwrap()));
        assert!(!Set::ATOMIC_OPERANDS.contains(place(Register::RDI).unwrap()));
    }
}
