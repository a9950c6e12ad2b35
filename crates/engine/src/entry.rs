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

/// A hook that does what stands first, calls its body, and then, where the next read is to save its registers, or while an
/// iteration's reads are collected, sets the stack below to zero. Frames of the program's there have words that it never
/// writes, and that are compared ([`crate::scheduling::turns`]): what the runtime left in them differs each time. Not on
/// stacks that the program has made itself, which are not compared, and may end where this would write. Keeps rax and rdx.
macro_rules! calls_and_cleans {
    ([$($first:literal)*] $body:path [$($last:literal)*] $(, $name:ident = const $value:expr)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            $($first,)*
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "call {body}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "mov rcx, ds:[{captured}]",
            $($last,)*
            "cmp qword ptr [rcx], {wanted}",
            "je 4f",
            "cmp qword ptr [rcx + {watched}], 0",
            "je 3f",
            "4: mov rdi, {stacks}",
            "mov r8, rsp",
            "sub r8, rdi",
            "shr r8, {stacks_bits}",
            "jnz 3f",
            "mov r8, rax",
            "lea rdi, [rsp - {below}]",
            "mov ecx, {below} / 8",
            "xor eax, eax",
            "rep stosq",
            "mov rax, r8",
            "3: ret",
            ".cfi_endproc",
            captured = const $crate::hot::CAPTURED,
            wanted = const $crate::hot::Captured::WANTED,
            watched = const core::mem::offset_of!($crate::hot::Captured, watched),
            below = const $crate::entry::BELOW,
            stacks = const $crate::layout::STACKS,
            stacks_bits = const $crate::entry::STACKS_BITS,
            body = sym $body,
            $($name = const $value,)*
        )
    };
}
pub(crate) use calls_and_cleans;

/// Bytes: no more than the runtime's own frames have had there, and as deep as those of functions that a spin calls are
/// likely to be.
pub const BELOW: usize = 1024;

/// A thread's stack is where no bit from this one on differs from [`crate::layout::STACKS`].
pub const STACKS_BITS: u32 = crate::layout::STACKS_BYTES.trailing_zeros();
const _: () = assert!(crate::layout::STACKS_BYTES.is_power_of_two());

/// The entry of a read: `$first`, if anything, then `$body`.
macro_rules! look_entry {
    ($(#[$export:meta])? $name:ident $first:literal $body:path) => {
        #[unsafe(naked)]
        $(#[$export])?
        pub extern "C" fn $name() {
            $crate::entry::calls_and_cleans!(
                [
                    $first
                    "mov rax, ds:[{captured}]"
                    "cmp qword ptr [rax], 0"
                    "jne 2f"
                    "jmp {body}"
                    "2: mov qword ptr [rax], {done}"
                    "mov [rax + 8], rbx"
                    "mov [rax + 16], rbp"
                    "mov [rax + 24], r12"
                    "mov [rax + 32], r13"
                    "mov [rax + 40], r14"
                    "mov [rax + 48], r15"
                    "mov [rax + 56], rsp"
                    "mov qword ptr [rax + {restored}], 1"
                ]
                $body
                [
                    // Of a spin that was skipped, in turns that it counts.
                    "mov rbx, [rcx + 8]"
                    "mov rbp, [rcx + 16]"
                    "mov r12, [rcx + 24]"
                    "mov r13, [rcx + 32]"
                    "mov r14, [rcx + 40]"
                    "mov r15, [rcx + 48]"
                    "mov qword ptr [rcx + {restored}], 0"
                ]
                , done = const $crate::hot::Captured::DONE,
                restored = const core::mem::offset_of!($crate::hot::Captured, restored)
            )
        }
    };
}
pub(crate) use look_entry;
