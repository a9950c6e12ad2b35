// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's registers, while the runtime does something for it that is to change none: calls around inline assembly
//! (`hooks/inline_assembly.rs`).
//!
//! The runtime's own code changes general registers and the low halves of xmm0 to xmm15, and no other vector, mask, x87 or
//! control register (tests/e2e/assembly.rs disassembles it). So these are saved at each call, and all others only before
//! other code runs during it: another fiber's, or a function of libc's ([`preserve`]).
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Where the open call of the running fiber wants the registers saved; 0: there is none, or it is done. Fibers switch
/// only after [`preserve`], so it is of the running fiber.
pub static UNSAVED: AtomicU64 = AtomicU64::new(0);

/// Vector registers, as XSAVE lays them out: those up to AVX-512's, and the x87's.
pub const STATE: u32 = 0xe7;
const STATE_BYTES: u32 = 2752;
const STATE_HEADER: u32 = 512;
/// What each call saves is behind that.
pub const XMM: u32 = STATE_BYTES;
pub const BYTES: u32 = STATE_BYTES + 16 * 16;

/// The low halves of xmm0 to xmm15, as the open call of the running fiber has saved them.
pub fn low_vectors() -> &'static [u64] {
    let saved = UNSAVED.load(Relaxed);
    if saved == 0 {
        return &[];
    }
    // SAFETY: in the frame of `corefold_assembly`, which stays until the call is done.
    unsafe { core::slice::from_raw_parts((saved + u64::from(XMM)) as *const u64, 32) }
}

/// Code that is not the runtime's is about to run.
#[inline]
pub fn preserve() {
    if UNSAVED.load(Relaxed) != 0 {
        // SAFETY: the address of room on the running fiber's stack, in the frame of `corefold_assembly`.
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
