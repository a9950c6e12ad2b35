// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exported functions that are told who called them: reports name the source line of a call, and the
//! return address is what stands for it.

/// Exported functions that hand their own return address to a body as one more argument, in the
/// register that comes after those of the arguments.
macro_rules! with_pc {
    ($($name:ident $register:literal $body:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {body}", body = sym $body)
        }
    )*};
}
pub(crate) use with_pc;

/// The same for functions with six arguments: the seventh goes on the stack.
macro_rules! with_seventh {
    ($($name:ident $body:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push qword ptr [rsp]",
                ".cfi_adjust_cfa_offset 8",
                "call {body}",
                "pop rcx",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                body = sym $body,
            )
        }
    )*};
}
pub(crate) use with_seventh;

/// A call that the program made.
#[derive(Clone, Copy)]
pub struct Call {
    /// What the program calls it: `pthread_mutex_lock`.
    pub name: &'static str,
    /// Its return address.
    pub pc: u64,
}

/// The register of the argument after these.
macro_rules! register {
    () => {
        "rdi"
    };
    ($a:ident) => {
        "rsi"
    };
    ($a:ident $b:ident) => {
        "rdx"
    };
    ($a:ident $b:ident $c:ident) => {
        "rcx"
    };
    ($a:ident $b:ident $c:ident $d:ident) => {
        "r8"
    };
    ($a:ident $b:ident $c:ident $d:ident $e:ident) => {
        "r9"
    };
}
pub(crate) use register;

/// The entry of a read: `$first`, if anything, then `$body`.
macro_rules! look_entry {
    ($(#[$export:meta])? $name:ident $first:literal $body:path) => {
        #[unsafe(naked)]
        $(#[$export])?
        pub extern "C" fn $name() {
            core::arch::naked_asm!(
                $first,
                "mov rax, ds:[{captured}]",
                "cmp qword ptr [rax], 0",
                "jne 2f",
                "jmp {body}",
                "2: mov qword ptr [rax], {done}",
                "mov [rax + 8], rbx",
                "mov [rax + 16], rbp",
                "mov [rax + 24], r12",
                "mov [rax + 32], r13",
                "mov [rax + 40], r14",
                "mov [rax + 48], r15",
                "mov [rax + 56], rsp",
                "jmp {body}",
                captured = const crate::hot::CAPTURED,
                done = const crate::hot::Captured::DONE,
                body = sym $body,
            )
        }
    };
}
pub(crate) use look_entry;
