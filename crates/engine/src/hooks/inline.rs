// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks that touch nothing but the hot state, and the entries of those that do.
//!
//! A plain access to a line that the running CPU already has alone costs one comparison, and a basic
//! block one addition: both are written in assembly, because they need their return address (it names
//! the block) and run hundreds of millions of times a second. All else goes to a slow path in Rust.
use crate::entry::{calls_and_cleans, look_entry};
use crate::hooks::access::{plain_read, plain_write};
use crate::hot::HOT;
use crate::layout::{BLOCK_COSTS, BLOCK_MASK, SHADOW};
use core::arch::naked_asm;

look_entry! { look_plainly "" plain_read }

/// A plain store may come while the reads of a loop are collected.
#[unsafe(naked)]
extern "C" fn store_plainly() {
    calls_and_cleans!([] plain_write [])
}

/// A basic block begins: `return address` names it, its cost is in a table indexed by that address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_trace_pc() {
    naked_asm!(
        "mov rdi, [rsp]",
        "mov rax, {mask}",
        "and rax, rdi",
        "mov rdx, {table}",
        "add rdx, ds:[{hot} + 8]",
        "movzx eax, word ptr [rax + rdx]",
        "test eax, eax",
        "jz 2f",
        "add rax, ds:[{hot} + 16]",
        "mov ds:[{hot} + 16], rax",
        "cmp rax, ds:[{hot} + 24]",
        "jae 3f",
        "ret",
        "2: jmp {unknown}",
        "3: jmp {limit}",
        mask = const BLOCK_MASK,
        table = const BLOCK_COSTS,
        hot = const HOT,
        unknown = sym crate::hooks::blocks::unknown_block,
        limit = sym corefold_block_limit,
    )
}

/// A function begins: `rdi` is its return address.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_entry(_return_address: u64) {
    naked_asm!(
        "mov rax, ds:[{hot} + 32]",
        "mov [rax], rdi",
        "add rax, ds:[{hot} + 40]",
        "mov ds:[{hot} + 32], rax",
        "ret",
        hot = const HOT,
    )
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_func_exit() {
    naked_asm!(
        "mov rax, ds:[{hot} + 40]",
        "sub ds:[{hot} + 32], rax",
        "ret",
        hot = const HOT,
    )
}

/// A plain access of a size that cannot cross a line. `$slow` gets (address, return address, size).
macro_rules! read_hook {
    ($($name:ident $size:literal)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov rax, rdi",
                "shr rax, 6",
                "mov eax, ds:[rax * 4 + {shadow}]",
                "and eax, -4",
                "cmp eax, ds:[{hot}]",
                "jne 2f",
                "ret",
                "2: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {slow}",
                hot = const HOT,
                shadow = const SHADOW,
                size = const $size,
                slow = sym look_plainly,
            )
        }
    )*};
}

macro_rules! write_hook {
    ($($name:ident $size:literal)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov rax, rdi",
                "shr rax, 6",
                "mov byte ptr ds:[{hot} + 48], 1",
                "mov eax, ds:[rax * 4 + {shadow}]",
                "cmp eax, ds:[{hot} + 4]",
                "jne 2f",
                "ret",
                "2: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {slow}",
                hot = const HOT,
                shadow = const SHADOW,
                size = const $size,
                slow = sym store_plainly,
            )
        }
    )*};
}

read_hook! { __tsan_read1 1 __tsan_read2 2 __tsan_read4 4 __tsan_read8 8 __tsan_read16 16
__tsan_volatile_read1 1 __tsan_volatile_read2 2 __tsan_volatile_read4 4 __tsan_volatile_read8 8 __tsan_volatile_read16 16 }
write_hook! { __tsan_write1 1 __tsan_write2 2 __tsan_write4 4 __tsan_write8 8 __tsan_write16 16
__tsan_volatile_write1 1 __tsan_volatile_write2 2 __tsan_volatile_write4 4 __tsan_volatile_write8 8 __tsan_volatile_write16 16 }

/// Accesses that need two steps, or are rare: `$slow` gets (address, return address, size).
macro_rules! sized_hook {
    ($($name:ident $size:literal $slow:ident)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {slow}",
                size = const $size,
                slow = sym crate::hooks::access::$slow,
            )
        }
    )*};
}

sized_hook! {
    __tsan_read_write1 1 range_update __tsan_read_write2 2 range_update __tsan_read_write4 4 range_update
    __tsan_read_write8 8 range_update __tsan_read_write16 16 range_update
    __tsan_unaligned_read_write1 1 range_update __tsan_unaligned_read_write2 2 range_update __tsan_unaligned_read_write4 4 range_update
    __tsan_unaligned_read_write8 8 range_update __tsan_unaligned_read_write16 16 range_update
    __tsan_vptr_read 8 range_read __tsan_vptr_update 8 range_write
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_write_range(_address: u64, _size: u64) {
    naked_asm!("mov rdx, rsi", "mov rsi, [rsp]", "jmp {slow}", slow = sym crate::hooks::access::range_write)
}

/// (address, size): the size stands in `rsi`, where the slow paths expect the return address. A look, if
/// all of it lies in one line: gcc reads the fields of packed structures so.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_read_range(_address: u64, _size: u64) {
    naked_asm!(
        "mov rdx, rsi",
        "mov rsi, [rsp]",
        "mov eax, edi",
        "and eax, 63",
        "lea rax, [rax + rdx - 1]",
        "cmp rax, 63",
        "ja {range}",
        "mov rax, rdi",
        "shr rax, 6",
        "mov eax, ds:[rax * 4 + {shadow}]",
        "and eax, -4",
        "cmp eax, ds:[{hot}]",
        "jne {slow}",
        "ret",
        hot = const HOT,
        shadow = const SHADOW,
        range = sym crate::hooks::access::range_read,
        slow = sym look_plainly,
    )
}

/// The slow paths of inlined hooks (see `corefold cc`): `rsi` holds what would be the return address. Where the code
/// around their calls changes, so do their names: then programs of before are refused (`driver/src/program.rs`).
macro_rules! inlined_slow {
    ($($name:ident $size:literal $slow:ident)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64, _pc: u64) {
            naked_asm!("mov edx, {size}", "jmp {slow}", size = const $size, slow = sym $slow)
        }
    )*};
}

inlined_slow! {
    corefold_shadow_read1 1 look_plainly corefold_shadow_read2 2 look_plainly corefold_shadow_read4 4 look_plainly
    corefold_shadow_read8 8 look_plainly corefold_shadow_read16 16 look_plainly
    corefold_shadow_write1 1 store_plainly corefold_shadow_write2 2 store_plainly corefold_shadow_write4 4 store_plainly
    corefold_shadow_write8 8 store_plainly corefold_shadow_write16 16 store_plainly
}

/// A block whose cost cell is still empty.
#[unsafe(no_mangle)]
pub extern "C" fn corefold_block_unknown(cell: *mut u32, pc: u64) {
    crate::hooks::blocks::learn(cell, pc);
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn corefold_block_limit(_pc: u64) {
    calls_and_cleans!(["mov rsi, rsp"] crate::hooks::limit::at_block [])
}
