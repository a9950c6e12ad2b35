// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry of calls around inline assembly, which change no register.
//!
//! The runtime's own code changes general registers and the low halves of xmm0 to xmm15, and no other vector, mask, x87 or
//! control register (tests/e2e/assembly.rs disassembles it). So these are saved at each call, and all others only before
//! other code runs during it: another fiber's, or a function of libc's ([`preserve`]).
use crate::hooks::around::around;
use crate::hooks::hot::{CAPTURED, Captured, HOT};
use crate::layout::{BLOCK_COSTS, BLOCK_MASK};
use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use corefold_block::around::{REST, TOP_BLOCK};

/// Where the open call of the running fiber wants the registers saved; 0: there is none, or it is done. Fibers switch
/// only after [`preserve`], so it is of the running fiber.
pub static UNSAVED: AtomicU64 = AtomicU64::new(0);

/// Vector registers, as XSAVE lays them out: those up to AVX-512's, and the x87's.
const STATE: u32 = 0xe7;
const STATE_BYTES: u32 = 2752;
const STATE_HEADER: u32 = 512;
/// What each call saves is behind that.
const XMM: u32 = STATE_BYTES;
const BYTES: u32 = STATE_BYTES + 16 * 16;

/// The low halves of xmm0 to xmm15, as the open call of the running fiber has saved them.
pub fn low_vectors() -> &'static [u64] {
    let saved = UNSAVED.load(Relaxed);
    if saved == 0 {
        return &[];
    }
    // SAFETY: in the frame of `corefold_around`, which stays until the call is done.
    unsafe { core::slice::from_raw_parts((saved + u64::from(XMM)) as *const u64, 32) }
}

/// Code that is not the runtime's is about to run.
#[inline]
pub fn preserve() {
    if UNSAVED.load(Relaxed) != 0 {
        // SAFETY: the address of room on the running fiber's stack, in the frame of `corefold_around`.
        unsafe { corefold_preserve() }
    }
}

/// A signal of the host's has interrupted the running fiber. The kernel has saved its registers, and their values are
/// others now.
pub fn interrupted<T>(handle: impl FnOnce() -> T) -> T {
    let unsaved = UNSAVED.swap(0, Relaxed);
    let result = handle();
    UNSAVED.store(unsaved, Relaxed);
    result
}

/// Saves the registers that the open call wants saved. Keeps all registers, for callers in assembly.
#[unsafe(naked)]
pub unsafe extern "C" fn corefold_preserve() {
    naked_asm!(
        "push rax",
        "push rdx",
        "push rcx",
        "xor eax, eax",
        "mov rcx, [rip + {unsaved}]",
        "mov [rip + {unsaved}], rax",
        "mov [rcx + {header}], rax", "mov [rcx + {header} + 8], rax", "mov [rcx + {header} + 16], rax",
        "mov [rcx + {header} + 24], rax", "mov [rcx + {header} + 32], rax", "mov [rcx + {header} + 40], rax",
        "mov [rcx + {header} + 48], rax", "mov [rcx + {header} + 56], rax",
        "mov eax, {state}",
        "xor edx, edx",
        "xsave64 [rcx]",
        // As it is at calls: of eight values in the x87's registers, other code could push none.
        "emms",
        "pop rcx",
        "pop rdx",
        "pop rax",
        "ret",
        unsaved = sym UNSAVED,
        header = const STATE_HEADER,
        state = const STATE,
    )
}

/// Keeps every register. The word that was pushed is taken off the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn corefold_around() {
    naked_asm!(
        ".cfi_startproc",
        "pushfq",
        ".cfi_adjust_cfa_offset 8",
        "cmp byte ptr [rip + {active}], 0",
        "je 2f",
        // A block's head, of known cost, before the limit: nothing else needs to be kept.
        "cmp byte ptr [rsp + 19], {block}",
        "jne 3f",
        "push rax",
        "push rdx",
        ".cfi_adjust_cfa_offset 16",
        "mov rdx, [rsp + 24]",
        "add rdx, {rest}",
        "mov rax, {mask}",
        "and rax, rdx",
        "mov rdx, {table}",
        "add rdx, ds:[{hot} + 8]",
        "movzx eax, word ptr [rax + rdx]",
        "test eax, eax",
        "jz 4f",
        "add rax, ds:[{hot} + 16]",
        "cmp rax, ds:[{hot} + 24]",
        "jae 4f",
        "mov ds:[{hot} + 16], rax",
        "mov rax, ds:[{captured}]",
        "mov qword ptr [rax + {comes_round}], 1",
        "pop rdx",
        "pop rax",
        "jmp 2f",
        "4: pop rdx",
        "pop rax",
        ".cfi_adjust_cfa_offset -16",
        "3: cld",
        "push r15", "push r14", "push r13", "push r12", "push r11", "push r10", "push r9", "push r8",
        "push rdi", "push rsi", "push rbp", "push rsp", "push rbx", "push rdx", "push rcx", "push rax",
        ".cfi_adjust_cfa_offset 128",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        ".cfi_offset rbp, -104",
        "sub rsp, {bytes}",
        "and rsp, -64",
        "movaps [rsp + {xmm}], xmm0", "movaps [rsp + {xmm} + 16], xmm1",
        "movaps [rsp + {xmm} + 32], xmm2", "movaps [rsp + {xmm} + 48], xmm3",
        "movaps [rsp + {xmm} + 64], xmm4", "movaps [rsp + {xmm} + 80], xmm5",
        "movaps [rsp + {xmm} + 96], xmm6", "movaps [rsp + {xmm} + 112], xmm7",
        "movaps [rsp + {xmm} + 128], xmm8", "movaps [rsp + {xmm} + 144], xmm9",
        "movaps [rsp + {xmm} + 160], xmm10", "movaps [rsp + {xmm} + 176], xmm11",
        "movaps [rsp + {xmm} + 192], xmm12", "movaps [rsp + {xmm} + 208], xmm13",
        "movaps [rsp + {xmm} + 224], xmm14", "movaps [rsp + {xmm} + 240], xmm15",
        "mov [rip + {unsaved}], rsp",
        "mov rdi, rbp",
        "call {body}",
        "cmp qword ptr [rip + {unsaved}], 0",
        "je 6f",
        "mov qword ptr [rip + {unsaved}], 0",
        // These leave the upper halves as they are.
        "5: movaps xmm0, [rsp + {xmm}]", "movaps xmm1, [rsp + {xmm} + 16]",
        "movaps xmm2, [rsp + {xmm} + 32]", "movaps xmm3, [rsp + {xmm} + 48]",
        "movaps xmm4, [rsp + {xmm} + 64]", "movaps xmm5, [rsp + {xmm} + 80]",
        "movaps xmm6, [rsp + {xmm} + 96]", "movaps xmm7, [rsp + {xmm} + 112]",
        "movaps xmm8, [rsp + {xmm} + 128]", "movaps xmm9, [rsp + {xmm} + 144]",
        "movaps xmm10, [rsp + {xmm} + 160]", "movaps xmm11, [rsp + {xmm} + 176]",
        "movaps xmm12, [rsp + {xmm} + 192]", "movaps xmm13, [rsp + {xmm} + 208]",
        "movaps xmm14, [rsp + {xmm} + 224]", "movaps xmm15, [rsp + {xmm} + 240]",
        "mov rsp, rbp",
        ".cfi_remember_state",
        ".cfi_def_cfa_register rsp",
        "pop rax", "pop rcx", "pop rdx", "pop rbx", "pop rbp", "pop rbp", "pop rsi", "pop rdi",
        "pop r8", "pop r9", "pop r10", "pop r11", "pop r12", "pop r13", "pop r14", "pop r15",
        ".cfi_restore rbp",
        ".cfi_adjust_cfa_offset -128",
        "2: popfq",
        ".cfi_adjust_cfa_offset -8",
        "ret 8",
        // Other code has run.
        ".cfi_restore_state",
        "6: mov eax, {state}",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "jmp 5b",
        ".cfi_endproc",
        active = sym crate::engine::ACTIVE,
        captured = const CAPTURED,
        comes_round = const offset_of!(Captured, comes_round),
        bytes = const BYTES,
        xmm = const XMM,
        state = const STATE,
        unsaved = sym UNSAVED,
        body = sym around,
        block = const TOP_BLOCK >> 24,
        rest = const REST,
        mask = const BLOCK_MASK,
        table = const BLOCK_COSTS,
        hot = const HOT,
    )
}
