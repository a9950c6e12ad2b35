// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the program called a library that has no hooks, when a thread is inside it: the hooks know of the
//! program's functions that call others of its own, but not of the innermost one's place.
use crate::carrier::Carrier;
use crate::code;
use crate::code::mapped::Mapped;
use crate::code::unwind::Registers;
use crate::layout::{STACKS, STACKS_BYTES};
use crate::stacks;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ops::Range;

/// Words of the stack that are looked at.
const DEEPEST: usize = 8192;

/// The code of the files that call our hooks.
static KNOWN: Carrier<Vec<(u64, u64)>> = Carrier::new(Vec::new());

pub fn files_changed() {
    let code = instrumented();
    KNOWN.with(|known| *known = code);
}

pub fn is_programs(pc: u64) -> bool {
    code_around(pc).is_some()
}

/// The segment of the program's code that the address is in.
pub fn code_around(pc: u64) -> Option<Range<u64>> {
    KNOWN.with(|code| code.iter().map(|(begin, end)| *begin..*end).find(|code| code.contains(&pc)))
}

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

/// The code of the files that call our hooks.
fn instrumented() -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    // SAFETY: the callback gets the vector back as its argument.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    found.retain(|(begin, _)| !crate::code::is_own(*begin));
    found
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: as dl_iterate_phdr documents; the loader's own tables.
    unsafe {
        let (info, into) = (&*info, &mut *into.cast::<Vec<(u64, u64)>>());
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        if calls_hooks(info, headers) {
            let code = headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
            into.extend(code.map(|h| (info.dlpi_addr + h.p_vaddr, info.dlpi_addr + h.p_vaddr + h.p_memsz)));
        }
    }
    0
}

/// Does the name of a hook stand among the file's symbols?
unsafe fn calls_hooks(info: &libc::dl_phdr_info, headers: &[libc::Elf64_Phdr]) -> bool {
    const DT_STRTAB: u64 = 5;
    const DT_STRSZ: u64 = 10;
    const HOOKS: [&[u8]; 2] = [b"\0corefold_block_", b"\0__tsan_func_entry\0"];
    let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return false };
    // SAFETY: the loader has relocated the dynamic section's addresses, but for the kernel's own file.
    unsafe {
        let entries = (info.dlpi_addr + dynamic.p_vaddr) as *const [u64; 2];
        let all = core::slice::from_raw_parts(entries, (dynamic.p_memsz / 16) as usize);
        let value = |tag| all.iter().find(|e| e[0] == tag).map_or(0, |e| e[1]);
        let (strings, bytes) = (value(DT_STRTAB), value(DT_STRSZ));
        if strings < info.dlpi_addr || strings == 0 {
            return false;
        }
        let names = core::slice::from_raw_parts(strings as *const u8, bytes as usize);
        HOOKS.iter().any(|hook| names.windows(hook.len()).any(|part| part == *hook))
    }
}
