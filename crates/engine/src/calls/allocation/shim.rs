// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who called the function that allocates, where that has no hooks: Rust's `__rust_alloc` is in the standard library's
//! compiled part. For most types it jumps to `malloc`, which then returns to the caller; for those with an alignment of
//! more than 16 bytes it calls `posix_memalign`.
use crate::code::{is_loaded, is_program};
use crate::hot::hot;
use crate::scheduling::fiber::current;

/// So many words above its return address is the caller's, at most.
const FRAME_WORDS: usize = 8;
/// No function that only passes on an allocation is longer, in bytes.
const LONGEST: u64 = 256;

/// Where the function that called the allocator was called, if it is in the program and has no hooks. `returns` is where
/// the allocator's return address is, on the stack.
pub fn caller(returns: *const u64) -> Option<u64> {
    // SAFETY: a thread's first frames, of the runtime and libc, are larger than what is read beyond this one.
    let word = |at: usize| unsafe { *returns.add(at) };
    let pc = word(0);
    let found = (1..=FRAME_WORDS).map(word).find(|back| is_program(pc) && is_call(*back, pc))?;
    // A function with hooks is on the list of calls already.
    (current().calls(hot().frames.get()).next() != Some(found)).then_some(found)
}

/// Is before `back` a call of the function that `pc` is in? Direct (`e8`), or through a pointer beside the code (`ff 15`).
fn is_call(back: u64, pc: u64) -> bool {
    if !is_program(back.wrapping_sub(6)) || !is_program(back) {
        return false;
    }
    // SAFETY: the program's code is readable.
    let code = unsafe { *((back - 6) as *const [u8; 2]) };
    let to = operand(back);
    let target = match code {
        [_, 0xe8] => to,
        // SAFETY: a word of the program's file, as it is loaded.
        [0xff, 0x15] if is_loaded(to) => unsafe { (to as *const u64).read_unaligned() },
        _ => return false,
    };
    // Without link-time optimisation, `__rust_alloc` only jumps to the allocator that the program uses.
    let after = target.wrapping_add(5);
    // SAFETY: as above.
    let jumps = is_program(target) && is_program(after) && unsafe { *(target as *const u8) } == 0xe9;
    pc.wrapping_sub(if jumps { operand(after) } else { target }) < LONGEST
}

/// What the instruction that ends before `next`, in the program's code, names by its distance.
fn operand(next: u64) -> u64 {
    // SAFETY: the program's code is readable.
    next.wrapping_add_signed(unsafe { ((next - 4) as *const i32).read_unaligned() }.into())
}
