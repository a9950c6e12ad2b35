// SPDX-License-Identifier: MIT OR Apache-2.0
//! A trampoline for each hook: it first reports which code was executed on the way to the hook.
use core::arch::global_asm;

global_asm!(
    // The return address is told; the hook gets its arguments and finds the stack as the program left it. An
    // unwinder passes it: the thread may end there.
    ".macro corefold_tell entry, function",
    "\\entry:",
    ".cfi_startproc",
    ".irp register, rdi, rsi, rdx, rcx, r8, r9, r11",
    "push \\register",
    ".cfi_adjust_cfa_offset 8",
    ".endr",
    "mov rsi, rdi",
    "mov rdi, [rsp + 56]",
    "call \\function",
    ".irp register, r11, r9, r8, rcx, rdx, rsi, rdi",
    "pop \\register",
    ".cfi_adjust_cfa_offset -8",
    ".endr",
    "jmp r11",
    ".cfi_endproc",
    ".endm",
    "corefold_tell corefold_passed, {passes}",
    "corefold_tell corefold_entered, {enters}",
    "corefold_tell corefold_exited, {exits}",
    passes = sym super::passes,
    enters = sym super::enters,
    exits = sym super::exits,
);

/// The entries and their table. `detours!` of a list of (what to tell, kind, hooks).
macro_rules! detours {
    ($($tell:ident $kind:literal: $($name:ident)*;)*) => {
        global_asm!(
            ".section .data.rel.ro.corefold_detours, \"aw\", @progbits",
            ".balign 8",
            ".globl corefold_detours, corefold_detours_end",
            ".hidden corefold_detours, corefold_detours_end",
            "corefold_detours:",
            ".text",
            $($(
                concat!("1: mov r11, [rip + ", stringify!($name), "@GOTPCREL]"),
                concat!("jmp ", stringify!($tell)),
                ".section .data.rel.ro.corefold_detours, \"aw\", @progbits",
                concat!(".quad ", stringify!($name), ", 1b, ", $kind),
                ".text",
            )*)*
            ".section .data.rel.ro.corefold_detours, \"aw\", @progbits",
            "corefold_detours_end:",
            ".text",
        );
    };
}

detours! {
    corefold_entered 0: __tsan_func_entry;
    corefold_exited 0: __tsan_func_exit;
    corefold_passed 0: __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
        __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
        __tsan_volatile_read1 __tsan_volatile_read2 __tsan_volatile_read4 __tsan_volatile_read8 __tsan_volatile_read16
        __tsan_volatile_write1 __tsan_volatile_write2 __tsan_volatile_write4 __tsan_volatile_write8
        __tsan_volatile_write16
        __tsan_unaligned_read1 __tsan_unaligned_read2 __tsan_unaligned_read4 __tsan_unaligned_read8
        __tsan_unaligned_read16 __tsan_unaligned_read_write1 __tsan_unaligned_volatile_read1
        __tsan_unaligned_volatile_write1 __tsan_unaligned_write1
        __tsan_unaligned_write2 __tsan_unaligned_write4 __tsan_unaligned_write8 __tsan_unaligned_write16
        __tsan_unaligned_volatile_read2 __tsan_unaligned_volatile_read4 __tsan_unaligned_volatile_read8
        __tsan_unaligned_volatile_read16 __tsan_unaligned_volatile_write2 __tsan_unaligned_volatile_write4
        __tsan_unaligned_volatile_write8 __tsan_unaligned_volatile_write16
        __tsan_read_write1 __tsan_read_write2 __tsan_read_write4 __tsan_read_write8 __tsan_read_write16
        __tsan_unaligned_read_write2 __tsan_unaligned_read_write4 __tsan_unaligned_read_write8
        __tsan_unaligned_read_write16
        __tsan_vptr_read __tsan_vptr_update __tsan_read_range __tsan_write_range __tsan_atomic_signal_fence;
    corefold_passed 2: __tsan_atomic8_load __tsan_atomic16_load __tsan_atomic32_load __tsan_atomic64_load
        __tsan_atomic128_load;
    corefold_passed 3: __tsan_atomic8_store __tsan_atomic16_store __tsan_atomic32_store __tsan_atomic64_store
        __tsan_atomic128_store;
    corefold_passed 4: __tsan_atomic_thread_fence;
    corefold_passed 1: __tsan_atomic8_exchange __tsan_atomic16_exchange __tsan_atomic32_exchange __tsan_atomic64_exchange
        __tsan_atomic128_exchange
        __tsan_atomic8_fetch_add __tsan_atomic16_fetch_add __tsan_atomic32_fetch_add __tsan_atomic64_fetch_add
        __tsan_atomic128_fetch_add
        __tsan_atomic8_fetch_sub __tsan_atomic16_fetch_sub __tsan_atomic32_fetch_sub __tsan_atomic64_fetch_sub
        __tsan_atomic128_fetch_sub
        __tsan_atomic8_fetch_and __tsan_atomic16_fetch_and __tsan_atomic32_fetch_and __tsan_atomic64_fetch_and
        __tsan_atomic128_fetch_and
        __tsan_atomic8_fetch_or __tsan_atomic16_fetch_or __tsan_atomic32_fetch_or __tsan_atomic64_fetch_or
        __tsan_atomic128_fetch_or
        __tsan_atomic8_fetch_xor __tsan_atomic16_fetch_xor __tsan_atomic32_fetch_xor __tsan_atomic64_fetch_xor
        __tsan_atomic128_fetch_xor
        __tsan_atomic8_fetch_nand __tsan_atomic16_fetch_nand __tsan_atomic32_fetch_nand __tsan_atomic64_fetch_nand
        __tsan_atomic128_fetch_nand
        __tsan_atomic8_compare_exchange_strong __tsan_atomic16_compare_exchange_strong
        __tsan_atomic32_compare_exchange_strong __tsan_atomic64_compare_exchange_strong
        __tsan_atomic128_compare_exchange_strong
        __tsan_atomic8_compare_exchange_weak __tsan_atomic16_compare_exchange_weak
        __tsan_atomic32_compare_exchange_weak __tsan_atomic64_compare_exchange_weak
        __tsan_atomic128_compare_exchange_weak
        __tsan_atomic8_compare_exchange_val __tsan_atomic16_compare_exchange_val __tsan_atomic32_compare_exchange_val
        __tsan_atomic64_compare_exchange_val __tsan_atomic128_compare_exchange_val;
}
