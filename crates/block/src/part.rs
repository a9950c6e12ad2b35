// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts that sequences of inline code consist of.
use Part::{Any, Bytes, Cell, Hot, JumpIf, Lea, Slot};

/// Where the shadow of the address space begins: just above what a program that is linked to fixed addresses may take up, so
/// that code addresses it without a register.
pub const SHADOW: u32 = 0x7f00_0000;

/// A part of a sequence: bytes of code, or an operand that ends an instruction.
pub enum Part {
    Bytes(&'static [u8]),
    /// So many bytes that say something to the runtime.
    Any(usize),
    /// `leaq`, of any address into any register.
    Lea,
    /// A call through a slot of the offset table, or what linkers make of one.
    Slot,
    /// The absolute address of a field of the hot state, or of the shadow.
    Hot(u32),
    /// The distance to the block's cell.
    Cell,
    /// A jump to the slow path, with the condition of this number, in its short or its long form.
    JumpIf(u8),
}

impl Part {
    /// What follows this part, if `bytes` begin with it.
    pub fn skip<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Bytes(code) => bytes.strip_prefix(*code),
            Any(count) => bytes.get(*count..),
            Lea => skip_lea(bytes),
            Slot => skip_call(bytes),
            Hot(address) => bytes.strip_prefix(&address.to_le_bytes()),
            Cell => bytes.get(4..),
            JumpIf(condition) => match bytes {
                [short, _, rest @ ..] if *short == 0x70 | condition => Some(rest),
                [0x0f, long, _, _, _, _, rest @ ..] if *long == 0x80 | condition => Some(rest),
                _ => None,
            },
        }
    }
}

/// What follows `call *slot(%rip)`, or the direct call with a prefix that linkers put in its place.
fn skip_call(bytes: &[u8]) -> Option<&[u8]> {
    matches!(bytes, [0xff, 0x15, ..] | [0x67, 0xe8, ..]).then(|| bytes.get(6..)).flatten()
}

/// What follows a 64-bit `lea`.
fn skip_lea(bytes: &[u8]) -> Option<&[u8]> {
    let [0x48..=0x4f, 0x8d, modes, rest @ ..] = bytes else { return None };
    let (mode, low) = (modes >> 6, modes & 7);
    let scaled = mode != 3 && low == 4;
    let base = if scaled { rest.first()? & 7 } else { low };
    let displacement = match mode {
        0 if base == 5 => 4,
        0 => 0,
        1 => 1,
        2 => 4,
        _ => return None,
    };
    rest.get(usize::from(scaled) + displacement..)
}
