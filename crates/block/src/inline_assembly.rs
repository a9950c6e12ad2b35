// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls around instructions of inline assembly: what `corefold cc` writes, the runtime answers and the
//! decoder knows again.
//!
//! Such a call changes no register, no flag and nothing below the stack pointer:
//! ```text
//!     leaq -128(%rsp), %rsp              past the red zone
//!     pushq %rdi                         } where there is
//!     leaq OPERAND, %rdi                 } an operand
//!     pushq $WORD                        what is to come; the callee takes it off
//!     call *corefold_assembly@GOTPCREL(%rip)
//!     popq %rdi                          } where there is an operand
//!     leaq 128(%rsp), %rsp
//! ```
//! The call goes through the offset table, as binding a name at the first call would change the flags.
use crate::part::Part::{self, Any, Bytes, Lea, Slot};

/// The function that is called.
pub const FUNCTION: &str = "corefold_assembly";

/// Bytes that the stack pointer moves before anything is pushed.
pub const RED_ZONE: u32 = 128;

/// Bytes of code behind the call's return address, up to the end of the sequence.
pub const REST: u64 = 8;

/// The word that says what is to come. Its top byte tells the decoder what the sequence stands for:
/// 0x40 the next instruction's access, 0x41 nothing of the program, 0x42 a block's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub u32);

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Read = 0,
    Write = 1,
    /// Reads and then writes, and others may come in between.
    Update = 2,
    /// An atomic read-modify-write.
    Atomic = 3,
    /// A full fence; no operand.
    Fence = 4,
    /// A string instruction: what it accesses stands in registers.
    String = 5,
    /// The instruction before did what was announced.
    Done = 6,
    /// A loop within the statement comes round; no operand.
    Block = 7,
    /// What comes is not seen; no operand. The size says why: see [`Unseen`].
    Unseen = 8,
}

const KINDS: [Kind; 9] = [
    Kind::Read,
    Kind::Write,
    Kind::Update,
    Kind::Atomic,
    Kind::Fence,
    Kind::String,
    Kind::Done,
    Kind::Block,
    Kind::Unseen,
];

/// What is not seen of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Unseen {
    Memory = 0,
    SystemCall = 1,
    Random = 2,
    Transaction = 3,
    /// What the processor is: the host's, not the simulated one.
    Processor = 4,
    /// A statement of bytes, of which nothing is known.
    Bytes = 5,
    /// The compiler's own vector instructions whose addresses lie in registers.
    Vectors = 6,
}

const SIZE: u32 = 0xff;
const KIND_SHIFT: u32 = 8;
/// The address in `rdi` is one in the thread's own block, which FS points to.
const THREAD: u32 = 1 << 12;
/// There is an operand, and `rdi` was pushed.
const OPERAND_BIT: u32 = 1 << 13;
/// Of string instructions: `rsi` is read from, `rdi` is written to, `rcx` counts.
const FROM: u32 = 1 << 14;
const TO: u32 = 1 << 15;
const COUNTED: u32 = 1 << 16;
/// The number of the register that holds a bit's number, plus one.
const BIT_SHIFT: u32 = 17;
const BIT: u32 = 0x1f << BIT_SHIFT;
/// Not all bytes of the operand are written: a mask says which.
const PARTLY: u32 = 1 << 22;

const TOP_AHEAD: u32 = 0x40 << 24;
const TOP_BESIDE: u32 = 0x41 << 24;
pub const TOP_BLOCK: u32 = 0x42 << 24;

impl Word {
    pub fn new(kind: Kind, size: u32) -> Word {
        let top = match kind {
            Kind::Done | Kind::Unseen => TOP_BESIDE,
            Kind::Block => TOP_BLOCK,
            _ => TOP_AHEAD,
        };
        Word(top | (kind as u32) << KIND_SHIFT | size & SIZE)
    }

    pub fn with_operand(self, thread: bool) -> Word {
        Word(self.0 | OPERAND_BIT | if thread { THREAD } else { 0 })
    }

    /// The operand is the beginning of a row of bits, and this register (0 is `rax`) says which is meant.
    pub fn with_bit_in(self, register: u32) -> Word {
        Word(self.0 & !BIT | (register + 1) << BIT_SHIFT)
    }

    pub fn partly(self) -> Word {
        Word(self.0 | PARTLY)
    }

    pub fn string(size: u32, from: bool, to: bool, counted: bool) -> Word {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        Word(Word::new(Kind::String, size).0 | flag(from, FROM) | flag(to, TO) | flag(counted, COUNTED))
    }

    pub fn unseen(what: Unseen) -> Word {
        Word::new(Kind::Unseen, what as u32)
    }

    pub fn kind(self) -> Kind {
        KINDS[((self.0 >> KIND_SHIFT & 0xf) as usize).min(KINDS.len() - 1)]
    }

    pub fn size(self) -> u32 {
        self.0 & SIZE
    }

    pub fn has_operand(self) -> bool {
        self.0 & OPERAND_BIT != 0
    }

    pub fn is_in_thread(self) -> bool {
        self.0 & THREAD != 0
    }

    pub fn bit_register(self) -> Option<u32> {
        (self.0 >> BIT_SHIFT & 0x1f).checked_sub(1)
    }

    pub fn is_partly(self) -> bool {
        self.0 & PARTLY != 0
    }

    pub fn reads_string(self) -> bool {
        self.0 & FROM != 0
    }

    pub fn writes_string(self) -> bool {
        self.0 & TO != 0
    }

    pub fn is_counted(self) -> bool {
        self.0 & COUNTED != 0
    }
}

const DOWN: Part = Bytes(&[0x48, 0x8d, 0x64, 0x24, 0x80]);
const UP: Part = Bytes(&[0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0]);
const PUSH_WORD: Part = Bytes(&[0x68]);

pub(crate) const OPERAND: &[Part] = &[
    DOWN,
    Bytes(&[0x57]), // pushq %rdi
    Lea,
    PUSH_WORD,
    Any(3),
    Bytes(&[0x40]),
    Slot,
    Bytes(&[0x5f]), // popq %rdi
    UP,
];
pub(crate) const AHEAD: &[Part] = &[DOWN, PUSH_WORD, Any(3), Bytes(&[0x40]), Slot, UP];
pub(crate) const BESIDE: &[Part] = &[DOWN, PUSH_WORD, Any(3), Bytes(&[0x41]), Slot, UP];
pub(crate) const BLOCK: &[Part] = &[DOWN, PUSH_WORD, Any(3), Bytes(&[0x42]), Slot, UP];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_what_was_put_in() {
        let word = Word::new(Kind::Atomic, 8).with_operand(true).with_bit_in(15);
        assert_eq!((word.kind(), word.size(), word.bit_register()), (Kind::Atomic, 8, Some(15)));
        assert!(word.has_operand() && word.is_in_thread());
        let plain = Word::new(Kind::Read, 64).with_operand(false);
        assert_eq!((plain.kind(), plain.size(), plain.bit_register()), (Kind::Read, 64, None));
        assert!(!plain.is_in_thread() && !plain.is_partly() && plain.partly().is_partly());
        let string = Word::string(4, true, false, true);
        assert!(string.reads_string() && !string.writes_string() && string.is_counted() && !string.has_operand());
        assert_eq!(
            (Word::unseen(Unseen::Transaction).kind(), Word::unseen(Unseen::Transaction).size()),
            (Kind::Unseen, 3)
        );
        for kind in KINDS {
            assert_eq!(Word::new(kind, 1).kind(), kind);
        }
    }
}
