// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hooks that stand in the code itself: the sequences that `corefold cc` puts in the place of the hottest
//! calls. Each counts as one call of its hook, and clobbers what the call would.
//!
//! The table below is the whole contract. A sequence differs from site to site only in the cell of a block
//! and in the distance to its slow path, which lies behind the function and jumps back to the end of the
//! sequence: the address that stands for the hook's return address.
//!
//! Around instructions of inline assembly stand calls that change nothing at all (`inline_assembly`): they too count
//! as a whole, with what makes room for them.
use crate::part::Part::{self, Bytes, Cell, Hot, JumpIf};
use crate::{Code, Hook, inline_assembly};

pub use crate::part::SHADOW;

/// Where the hot state of the runtime is mapped; its fields are addressed by the distance from here.
pub const HOT: u32 = 0x10_0000;
pub const TAG: u32 = HOT;
pub const TAG_DIRTY: u32 = HOT + 4;
pub const COST_HALF: u32 = HOT + 8;
pub const CLOCK: u32 = HOT + 16;
pub const LIMIT: u32 = HOT + 24;
pub const FRAMES: u32 = HOT + 32;
pub const FRAME_STEP: u32 = HOT + 40;
pub const WROTE: u32 = HOT + 48;

/// Bytes of the longest sequence.
pub const LONGEST: usize = 64;

const EQUAL: u8 = 4;
const NOT_EQUAL: u8 = 5;
const ABOVE_OR_EQUAL: u8 = 3;

/// Each sequence, and the hook that it is.
const SEQUENCES: [(Hook, &[Part]); 11] = [
    (Hook::Access, READ),
    (Hook::Access, WRITE),
    (Hook::Access, READ_AGAIN),
    (Hook::Access, WRITE_AGAIN),
    (Hook::Block, BLOCK),
    (Hook::Access, ENTRY),
    (Hook::Access, EXIT),
    (Hook::Ahead, inline_assembly::OPERAND),
    (Hook::Ahead, inline_assembly::AHEAD),
    (Hook::Beside, inline_assembly::BESIDE),
    (Hook::Head, inline_assembly::BLOCK),
];

const READ: &[Part] = &[
    Bytes(&[0x48, 0x89, 0xf8]),       // movq %rdi, %rax
    Bytes(&[0x48, 0xc1, 0xe8, 0x06]), // shrq $6, %rax
    Bytes(&[0x8b, 0x04, 0x85]),       // movl SHADOW(,%rax,4), %eax
    Hot(SHADOW),
    Bytes(&[0x83, 0xe0, 0xfc]), // andl $-4, %eax
    Bytes(&[0x3b, 0x04, 0x25]), // cmpl TAG, %eax
    Hot(TAG),
    JumpIf(NOT_EQUAL),
];

const WRITE: &[Part] = &[
    Bytes(&[0x48, 0x89, 0xf8]),       // movq %rdi, %rax
    Bytes(&[0x48, 0xc1, 0xe8, 0x06]), // shrq $6, %rax
    Bytes(&[0xc6, 0x04, 0x25]),       // movb $1, WROTE
    Hot(WROTE),
    Bytes(&[1]),
    Bytes(&[0x8b, 0x04, 0x85]), // movl SHADOW(,%rax,4), %eax
    Hot(SHADOW),
    Bytes(&[0x3b, 0x04, 0x25]), // cmpl TAG_DIRTY, %eax
    Hot(TAG_DIRTY),
    JumpIf(NOT_EQUAL),
];

/// The same where the slow path computes the address again.
const READ_AGAIN: &[Part] = &[
    Bytes(&[0x48, 0xc1, 0xef, 0x06]), // shrq $6, %rdi
    Bytes(&[0x8b, 0x3c, 0xbd]),       // movl SHADOW(,%rdi,4), %edi
    Hot(SHADOW),
    Bytes(&[0x83, 0xe7, 0xfc]), // andl $-4, %edi
    Bytes(&[0x3b, 0x3c, 0x25]), // cmpl TAG, %edi
    Hot(TAG),
    JumpIf(NOT_EQUAL),
];

const WRITE_AGAIN: &[Part] = &[
    Bytes(&[0x48, 0xc1, 0xef, 0x06]), // shrq $6, %rdi
    Bytes(&[0xc6, 0x04, 0x25]),       // movb $1, WROTE
    Hot(WROTE),
    Bytes(&[1]),
    Bytes(&[0x8b, 0x3c, 0xbd]), // movl SHADOW(,%rdi,4), %edi
    Hot(SHADOW),
    Bytes(&[0x3b, 0x3c, 0x25]), // cmpl TAG_DIRTY, %edi
    Hot(TAG_DIRTY),
    JumpIf(NOT_EQUAL),
];

const BLOCK: &[Part] = &[
    Bytes(&[0x48, 0x8d, 0x3d]), // leaq cell(%rip), %rdi
    Cell,
    Bytes(&[0x48, 0x8b, 0x04, 0x25]), // movq COST_HALF, %rax
    Hot(COST_HALF),
    Bytes(&[0x0f, 0xb7, 0x04, 0x07]), // movzwl (%rdi,%rax), %eax
    Bytes(&[0x85, 0xc0]),             // testl %eax, %eax
    JumpIf(EQUAL),
    Bytes(&[0x48, 0x03, 0x04, 0x25]), // addq CLOCK, %rax
    Hot(CLOCK),
    Bytes(&[0x48, 0x89, 0x04, 0x25]), // movq %rax, CLOCK
    Hot(CLOCK),
    Bytes(&[0x48, 0x3b, 0x04, 0x25]), // cmpq LIMIT, %rax
    Hot(LIMIT),
    JumpIf(ABOVE_OR_EQUAL),
];

const ENTRY: &[Part] = &[
    Bytes(&[0x48, 0x8b, 0x04, 0x25]), // movq FRAMES, %rax
    Hot(FRAMES),
    Bytes(&[0x48, 0x89, 0x38]),       // movq %rdi, (%rax)
    Bytes(&[0x48, 0x03, 0x04, 0x25]), // addq FRAME_STEP, %rax
    Hot(FRAME_STEP),
    Bytes(&[0x48, 0x89, 0x04, 0x25]), // movq %rax, FRAMES
    Hot(FRAMES),
];

const EXIT: &[Part] = &[
    Bytes(&[0x48, 0x8b, 0x04, 0x25]), // movq FRAME_STEP, %rax
    Hot(FRAME_STEP),
    Bytes(&[0x48, 0x29, 0x04, 0x25]), // subq %rax, FRAMES
    Hot(FRAMES),
];

/// The hook whose sequence `bytes` begin with, and the length of the sequence.
pub fn recognise(bytes: &[u8]) -> Option<(Hook, usize)> {
    // This is asked of each instruction that is decoded, and hardly any is a hook.
    let start = bytes.first_chunk::<3>()?;
    let begins = |parts: &[Part]| matches!(parts, [Bytes(code), ..] if code.first_chunk() == Some(start));
    SEQUENCES.iter().filter(|(_, parts)| begins(parts)).find_map(|(hook, parts)| {
        let skip = |rest, part: &Part| part.skip(rest);
        let rest = parts.iter().try_fold(bytes, skip)?;
        Some((*hook, bytes.len() - rest.len()))
    })
}

/// The address of the cell that holds the cost of the block whose inlined hook ends at `pc`; none if none does.
pub fn cell_before(code: &impl Code, pc: u64) -> Option<u64> {
    /// Of the hook, as jumps are short or long.
    const LENGTHS: [u64; 3] = [49, 53, 57];
    LENGTHS.into_iter().find_map(|length| {
        let begin = pc.checked_sub(length)?;
        let bytes = code.bytes(begin, length as usize);
        let (hook, found) = recognise(bytes)?;
        // Relative to the end of the instruction that it is in, the first.
        let offset = i32::from_le_bytes(bytes.get(3..7)?.try_into().ok()?);
        (hook == Hook::Block && found as u64 == length).then(|| (begin + 7).wrapping_add_signed(offset.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Part::{Any, Lea, Slot};

    /// The length of a sequence whose jumps are all long.
    fn longest(parts: &[Part]) -> usize {
        let length = |part: &Part| match part {
            Bytes(code) => code.len(),
            Any(count) => *count,
            Lea => 8,
            Slot => 6,
            Hot(_) | Cell => 4,
            JumpIf(_) => 6,
        };
        parts.iter().map(length).sum()
    }

    #[test]
    fn every_sequence_fits_in_what_is_read_for_one() {
        for (_, parts) in SEQUENCES {
            assert!(longest(parts) <= LONGEST, "{}", longest(parts));
        }
    }
}
