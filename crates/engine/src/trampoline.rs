// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entry points that hand a call on to libc's function of the same name with every register as it was,
//! so that its signature need not be known: variadic and floating-point arguments work too.
use crate::registers;
use core::arch::global_asm;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicPtr, Ordering};

/// The address of libc's function; until the first call, of an entry that looks it up.
#[repr(C)]
pub struct Slot {
    address: AtomicPtr<()>,
    name: *const c_char,
}

// SAFETY: the name points to constant text.
unsafe impl Sync for Slot {}

impl Slot {
    /// `name` ends in a zero byte.
    pub const fn new(lookup: unsafe extern "C" fn(), name: &'static [u8]) -> Self {
        Slot { address: AtomicPtr::new(lookup as *mut ()), name: name.as_ptr().cast() }
    }

    /// For a call of it. Relaxed: whoever reads an old value looks the function up again.
    #[inline]
    pub fn function(&self) -> *mut () {
        registers::preserve();
        self.address.load(Ordering::Relaxed)
    }
}

/// The registers that hold a call's arguments, as they were saved on the stack.
#[repr(C)]
pub struct Arguments {
    pub rdi: u64,
    pub rsi: u64,
    pub rdx: u64,
    pub rcx: u64,
    pub r8: u64,
    pub r9: u64,
    rax: u64,
    slot: *const Slot,
}

impl Arguments {
    /// The stack pointer as it is once the call has returned: above what the entries below have saved, and
    /// the frame and return addresses.
    pub fn sp_after(&self) -> u64 {
        const SAVED: u64 = 192;
        core::ptr::from_ref(self) as u64 + SAVED + 16
    }

    /// The name of the function that was called.
    pub fn name(&self) -> &'static str {
        // SAFETY: the entries below pass the address of a static, whose name is a terminated string.
        unsafe { CStr::from_ptr((*self.slot).name) }.to_str().unwrap_or_default()
    }
}

pub extern "C" fn look_up(arguments: &Arguments, _pc: u64) {
    // SAFETY: the entries below pass the address of a static.
    let slot = unsafe { &*arguments.slot };
    let found = crate::real::next(slot.name);
    if found == 0 {
        crate::sys::engine_fault("libc lacks a function that the runtime replaces");
    }
    slot.address.store(found as *mut _, Ordering::Relaxed);
}

global_asm!(
    // r10: what to do before, a function of the arguments and the caller's address; r11: the slot. Nothing
    // is done before while nothing is simulated, or where the runtime itself calls.
    ".globl corefold_before",
    ".hidden corefold_before",
    ".type corefold_before,@function",
    "corefold_before:",
    "cmp byte ptr [rip + {active}], 0",
    "je 2f",
    "push rax",
    "mov rax, [rsp + 8]",
    "sub rax, [rip + {code}]",
    "cmp rax, [rip + {code} + 8]",
    "pop rax",
    "jae corefold_always_before",
    "cmp qword ptr [rip + {unsaved}], 0",
    "je 2f",
    "call {preserve}",
    "2: jmp [r11]",
    ".globl corefold_always_before",
    ".hidden corefold_always_before",
    ".type corefold_always_before,@function",
    "corefold_always_before:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, 192",
    "mov [rsp], rdi", "mov [rsp + 8], rsi", "mov [rsp + 16], rdx", "mov [rsp + 24], rcx",
    "mov [rsp + 32], r8", "mov [rsp + 40], r9", "mov [rsp + 48], rax", "mov [rsp + 56], r11",
    "movaps [rsp + 64], xmm0", "movaps [rsp + 80], xmm1", "movaps [rsp + 96], xmm2", "movaps [rsp + 112], xmm3",
    "movaps [rsp + 128], xmm4", "movaps [rsp + 144], xmm5", "movaps [rsp + 160], xmm6", "movaps [rsp + 176], xmm7",
    "mov rdi, rsp",
    "mov rsi, [rbp + 8]",
    "call r10",
    "mov rdi, [rsp]", "mov rsi, [rsp + 8]", "mov rdx, [rsp + 16]", "mov rcx, [rsp + 24]",
    "mov r8, [rsp + 32]", "mov r9, [rsp + 40]", "mov rax, [rsp + 48]", "mov r11, [rsp + 56]",
    "movaps xmm0, [rsp + 64]", "movaps xmm1, [rsp + 80]", "movaps xmm2, [rsp + 96]", "movaps xmm3, [rsp + 112]",
    "movaps xmm4, [rsp + 128]", "movaps xmm5, [rsp + 144]", "movaps xmm6, [rsp + 160]", "movaps xmm7, [rsp + 176]",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "jmp [r11]",
    ".cfi_endproc",
    active = sym crate::engine::ACTIVE,
    code = sym crate::code::OWN,
    unsaved = sym registers::UNSAVED,
    preserve = sym registers::corefold_preserve,
);

unsafe extern "C" {
    pub fn corefold_before();
    pub fn corefold_always_before();
}

/// Declares `SLOT` for libc's function `$name` in the module that it is used in.
macro_rules! slot {
    ($name:ident) => {
        #[unsafe(naked)]
        unsafe extern "C" fn look_up() {
            core::arch::naked_asm!(
                "lea r10, [rip + {look_up}]",
                "lea r11, [rip + {slot}]",
                "jmp {always}",
                look_up = sym $crate::trampoline::look_up,
                slot = sym SLOT,
                always = sym $crate::trampoline::corefold_always_before,
            )
        }
        pub static SLOT: $crate::trampoline::Slot =
            $crate::trampoline::Slot::new(look_up, concat!(stringify!($name), "\0").as_bytes());
    };
}
pub(crate) use slot;

/// Stand-ins that jump to `$target` with what to do before (`$hook`) in r10 and libc's function in r11.
macro_rules! entries {
    ($target:path: $($hook:path => $($name:ident)*;)*) => {$($(
        pub mod $name {
            $crate::trampoline::slot!($name);
            #[unsafe(naked)]
            #[unsafe(export_name = stringify!($name))]
            pub extern "C" fn entry() {
                core::arch::naked_asm!(
                    "lea r10, [rip + {hook}]",
                    "lea r11, [rip + {slot}]",
                    "jmp {target}",
                    hook = sym $hook,
                    slot = sym SLOT,
                    target = sym $target,
                )
            }
        }
    )*)*};
}
pub(crate) use entries;

/// Stand-ins that do something, given the arguments and the caller's address, and then are libc's function.
macro_rules! before {
    ($($list:tt)*) => { $crate::trampoline::entries! { $crate::trampoline::corefold_before: $($list)* } };
}
pub(crate) use before;

/// The same while nothing is simulated, too.
macro_rules! always_before {
    ($($list:tt)*) => { $crate::trampoline::entries! { $crate::trampoline::corefold_always_before: $($list)* } };
}
pub(crate) use always_before;
