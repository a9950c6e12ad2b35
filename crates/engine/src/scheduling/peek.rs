// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads of the program's memory that may fault. The simulator looks at a word before the program's own access to it, whose
//! fault is the program's to handle, and at what an earlier load has read, whose page may be unmapped since. Nothing is
//! found there then: the handler of faults lets the read return 0.
use core::arch::global_asm;
use core::ffi::c_int;

global_asm!(
    ".hidden corefold_peek_1",
    ".hidden corefold_peek_2",
    ".hidden corefold_peek_4",
    ".hidden corefold_peek_8",
    ".globl corefold_peek_1",
    ".globl corefold_peek_2",
    ".globl corefold_peek_4",
    ".globl corefold_peek_8",
    ".text",
    "corefold_peek_1:",
    "movzx eax, byte ptr [rdi]",
    "ret",
    "corefold_peek_2:",
    "movzx eax, word ptr [rdi]",
    "ret",
    "corefold_peek_4:",
    "mov eax, dword ptr [rdi]",
    "ret",
    "corefold_peek_8:",
    "mov rax, qword ptr [rdi]",
    "ret",
);

unsafe extern "C" {
    fn corefold_peek_1(address: u64) -> u64;
    fn corefold_peek_2(address: u64) -> u64;
    fn corefold_peek_4(address: u64) -> u64;
    fn corefold_peek_8(address: u64) -> u64;
}

/// The bytes from `address` on; 0 where they cannot be read.
#[inline]
pub fn read(address: u64, size: u8) -> u64 {
    // SAFETY: the first instruction of each reads, and a fault of that one is dealt with by `gives_up`.
    unsafe {
        match size {
            1 => corefold_peek_1(address),
            2 => corefold_peek_2(address),
            4 => corefold_peek_4(address),
            8 => corefold_peek_8(address),
            _ => 0,
        }
    }
}

/// Was it one of these reads that faulted? Then it returns 0.
pub fn gives_up(signal: c_int, registers: &mut [i64]) -> bool {
    const READS: [unsafe extern "C" fn(u64) -> u64; 4] =
        [corefold_peek_1, corefold_peek_2, corefold_peek_4, corefold_peek_8];
    let at = registers[libc::REG_RIP as usize] as usize;
    if !matches!(signal, libc::SIGSEGV | libc::SIGBUS) || !READS.iter().any(|read| *read as usize == at) {
        return false;
    }
    let stack = registers[libc::REG_RSP as usize];
    registers[libc::REG_RAX as usize] = 0;
    // SAFETY: the return address is on top of the stack, as the first instruction has not been carried out.
    registers[libc::REG_RIP as usize] = unsafe { (stack as *const i64).read() };
    registers[libc::REG_RSP as usize] = stack + 8;
    true
}
