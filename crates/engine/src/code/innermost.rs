// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the program called a library that has no hooks, when a thread is inside it: the hooks know of the
//! program's functions that call others of its own, but not of the innermost one's place.
use crate::code;
use crate::code::instrumented::is_programs;
use crate::code::mapped::Mapped;
use crate::code::unwind::Registers;
use crate::layout::{STACKS, STACKS_BYTES};
use crate::stacks;
use alloc::vec::Vec;

/// Words of the stack that are looked at.
const DEEPEST: usize = 8192;

/// Is it the return address of a call in the program's code?
fn is_return(pc: u64) -> bool {
    is_programs(pc) && follows_call(pc)
}

/// Which of these words of a stack is where the program called the library that lies below: the first that returns from
/// a call which is seen to leave the program. Others may be left of calls that are over; but a library may have been
/// called by a pointer, so of these the first if there is none.
pub fn call_of_library(words: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    let mut returns = words.filter(|word| is_return(*word));
    returns.clone().find(|pc| corefold_block::call_leaves(&Mapped, *pc)).or_else(|| returns.next())
}

/// Is it neither the program's code, nor ours or the C library's?
pub fn is_in_library(pc: u64) -> bool {
    !is_programs(pc) && !code::is_own(pc) && !code::is_libc(pc)
}

/// Does a `syscall` instruction end at `pc`?
pub fn is_after_call(pc: u64) -> bool {
    const PAGE: u64 = 4096;
    // SAFETY: code, and of the same page.
    pc % PAGE >= 2 && unsafe { ((pc - 2) as *const [u8; 2]).read() } == [0x0f, 0x05]
}

/// Where the program called the library that a thread is in, at `pc` with stack pointer `sp`; `outer` is the return address
/// of its innermost function with hooks. None if the program is there itself, or has not called it.
pub fn calling(pc: u64, sp: u64, outer: Option<u64>) -> Option<u64> {
    (!is_programs(pc)).then(|| first_call(sp, outer.unwrap_or(0)))?
}

/// The first word of a stack, from `sp` on but below the return address `outer`, that the program has called from.
fn first_call(sp: u64, outer: u64) -> Option<u64> {
    if sp.wrapping_sub(STACKS) >= STACKS_BYTES {
        return None;
    }
    let words = (sp.next_multiple_of(8)..stacks::stack_end(sp)).step_by(8).take(DEEPEST);
    // SAFETY: words of a thread's stack, above its stack pointer.
    let words = words.map(|at| unsafe { (at as *const u64).read() });
    call_of_library(words.take_while(|word| *word != outer))
}

/// Where the program called the library that a thread waits in, with stack pointer `sp`; `outer` is the return address
/// of the function that did.
pub fn calling_from(sp: u64, outer: Option<u64>) -> Option<u64> {
    first_call(sp, outer.unwrap_or(0))
}

/// Where the program called what the running thread is in. By unwinding: the part of Rust's standard library that has no hooks
/// lies in the program's own file. `outer` is the return address of the innermost function with hooks.
pub fn calling_here(outer: Option<u64>) -> Option<u64> {
    let here = Registers::here();
    outer.and_then(|outer| here.before(outer)).or_else(|| calling_from(here.sp(), outer))
}

/// Where in a function the hook belongs whose call returns to `pc`: the function's end has calls for its inline hooks, each
/// with the place that it is for (`lea PLACE(%rip), …; call HOOK; jmp PLACE`).
pub fn in_line(pc: u64) -> u64 {
    // SAFETY: within a module's code, which neither begins nor ends with a call.
    let code = unsafe { core::slice::from_raw_parts((pc - 12) as *const u8, 17) };
    let number = |at: usize| i32::from_le_bytes([code[at], code[at + 1], code[at + 2], code[at + 3]]);
    let (place, next) = (pc.wrapping_sub(5).wrapping_add_signed(number(3).into()), pc + 5);
    let is_one = code[..2] == [0x48, 0x8d] && matches!(code[2], 0x35 | 0x3d) && (code[7], code[12]) == (0xe8, 0xe9);
    if is_one && next.wrapping_add_signed(number(13).into()) == place { place } else { pc }
}

/// Adds to `stack`, a thread's place and its calls from the innermost on, where the program called what the
/// place belongs to. The thread's stack pointer is `sp`.
pub fn complete(stack: &mut Vec<u64>, sp: u64) {
    let Some(place) = stack.first().copied() else { return };
    let outer = stack.get(1).copied().unwrap_or(0);
    if !is_programs(place)
        && let Some(call) = first_call(sp, outer)
    {
        stack.insert(1, call);
    }
}

/// Does a call stand before `pc`? (Direct, or by a register or memory: `e8` or `ff /2`.)
fn follows_call(pc: u64) -> bool {
    // SAFETY: within a module's code, which does not begin with a function.
    let before = unsafe { core::slice::from_raw_parts((pc - 7) as *const u8, 7) };
    let indirect = |length: usize| before[7 - length] == 0xff && before[8 - length] >> 3 & 7 == 2;
    before[2] == 0xe8 || [2, 3, 6, 7].into_iter().any(indirect)
}
