// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entry points that hold a lock for as long as libc's function of the same name runs. The lock is taken, and the call
//! charged, before; libc is called with every argument register as it was; then the lock is released. An
//! exception or a cancellation that unwinds the call releases it, too.
use crate::calls::library_locks::let_go;
use crate::personality;
use crate::registers;
use core::arch::global_asm;
use core::ffi::{c_int, c_void};

global_asm!(
    // r10: what to do before, a function of the arguments, the caller's address and where to keep the lock that it
    // takes; r11: the slot of libc's function, which has no arguments on the stack.
    ".globl corefold_holding",
    ".hidden corefold_holding",
    ".type corefold_holding,@function",
    "corefold_holding:",
    "cmp byte ptr [rip + {active}], 0",
    "je 2f",
    "mov rax, [rsp]",
    "sub rax, [rip + {code}]",
    "cmp rax, [rip + {code} + 8]",
    "mov rax, [rsp]",
    "jae corefold_holding_at",
    "cmp qword ptr [rip + {unsaved}], 0",
    "je 2f",
    "call {preserve}",
    "2: jmp [r11]",
    // The same, and rax is the caller's address.
    ".globl corefold_holding_at",
    ".hidden corefold_holding_at",
    ".type corefold_holding_at,@function",
    "corefold_holding_at:",
    ".cfi_startproc",
    // 0x1b: the personality's address, relative to here, in 4 bytes.
    ".cfi_personality 0x1b, {personality}",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, 256",
    "mov qword ptr [rbp - 8], 0",
    "mov [rbp - 16], rax",
    "mov [rsp], rdi", "mov [rsp + 8], rsi", "mov [rsp + 16], rdx", "mov [rsp + 24], rcx",
    "mov [rsp + 32], r8", "mov [rsp + 40], r9", "mov [rsp + 48], rax", "mov [rsp + 56], r11",
    "movaps [rsp + 64], xmm0", "movaps [rsp + 80], xmm1", "movaps [rsp + 96], xmm2", "movaps [rsp + 112], xmm3",
    "mov rdi, rsp",
    "mov rsi, rax",
    "lea rdx, [rbp - 8]",
    "call r10",
    "mov rdi, [rsp]", "mov rsi, [rsp + 8]", "mov rdx, [rsp + 16]", "mov rcx, [rsp + 24]",
    "mov r8, [rsp + 32]", "mov r9, [rsp + 40]", "mov r11, [rsp + 56]",
    "movaps xmm0, [rsp + 64]", "movaps xmm1, [rsp + 80]", "movaps xmm2, [rsp + 96]", "movaps xmm3, [rsp + 112]",
    "call [r11]",
    "mov [rbp - 24], rax",
    "lea rdi, [rbp - 8]",
    "mov rsi, [rbp - 16]",
    "call {let_go}",
    "mov rax, [rbp - 24]",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    active = sym crate::engine::ACTIVE,
    code = sym crate::code::OWN,
    let_go = sym let_go,
    personality = sym personality,
    unsaved = sym registers::UNSAVED,
    preserve = sym registers::corefold_preserve,
);

unsafe extern "C" {
    pub fn corefold_holding();
    pub fn corefold_holding_at();
}

/// The unwinder asks what to do at the frame above: if it goes past it, the lock is let go.
extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _what: *mut c_void,
    context: *mut c_void,
) -> c_int {
    if let Some(frame) = personality::passed(actions, context, personality::RBP) {
        // SAFETY: the frame is as it was laid out above.
        unsafe { let_go(&mut *((frame - 8) as *mut u64), *((frame - 16) as *const u64)) };
    }
    personality::CONTINUE
}

/// Stand-ins that hold what `hook` takes while libc's function runs.
macro_rules! holding {
    ($($list:tt)*) => { $crate::trampoline::entries! { $crate::calls::holding::corefold_holding: $($list)* } };
}
pub(crate) use holding;

/// The same for functions with any number of arguments: `name(register) => listed` calls libc's `listed`, which gets
/// them as a `va_list` in that register, after so many bytes of named ones.
macro_rules! holding_any {
    ($($hook:path => $($name:ident($register:literal, $named:literal) $listed:ident)*;)*) => {$($(
        mod $name {
            $crate::trampoline::slot!($name);
            #[unsafe(naked)]
            #[unsafe(export_name = stringify!($name))]
            pub extern "C" fn entry() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "lea r11, [rip + {own}]",
                    "cmp byte ptr [rip + {active}], 0",
                    "je 2f",
                    "push rbp",
                    ".cfi_def_cfa_offset 16",
                    ".cfi_offset rbp, -16",
                    "mov rbp, rsp",
                    ".cfi_def_cfa_register rbp",
                    "sub rsp, 208",
                    // The registers, and behind them the list itself (the x86-64 ABI's `va_list`).
                    "mov [rsp], rdi", "mov [rsp + 8], rsi", "mov [rsp + 16], rdx",
                    "mov [rsp + 24], rcx", "mov [rsp + 32], r8", "mov [rsp + 40], r9",
                    "movaps [rsp + 48], xmm0", "movaps [rsp + 64], xmm1", "movaps [rsp + 80], xmm2",
                    "movaps [rsp + 96], xmm3", "movaps [rsp + 112], xmm4", "movaps [rsp + 128], xmm5",
                    "movaps [rsp + 144], xmm6", "movaps [rsp + 160], xmm7",
                    concat!("mov dword ptr [rsp + 176], ", $named),
                    "mov dword ptr [rsp + 180], 48",
                    "lea rax, [rbp + 16]",
                    "mov [rsp + 184], rax",
                    "mov [rsp + 192], rsp",
                    concat!("lea ", $register, ", [rsp + 176]"),
                    "mov rax, [rbp + 8]",
                    "lea r10, [rip + {hook}]",
                    "lea r11, [rip + {slot}]",
                    "call {holding}",
                    "leave",
                    ".cfi_remember_state",
                    ".cfi_def_cfa rsp, 8",
                    "ret",
                    ".cfi_restore_state",
                    ".cfi_def_cfa rsp, 8",
                    "2: jmp [r11]",
                    ".cfi_endproc",
                    active = sym $crate::engine::ACTIVE,
                    own = sym SLOT,
                    hook = sym $hook,
                    slot = sym super::$listed::SLOT,
                    holding = sym $crate::calls::holding::corefold_holding_at,
                )
            }
        }
    )*)*};
}
pub(crate) use holding_any;
