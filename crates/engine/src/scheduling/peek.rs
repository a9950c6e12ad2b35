// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to the program's memory that may fault.
//!
//! The simulator looks at a word before the program's own access to it, whose fault is the program's to handle, and at what
//! an earlier load has read, whose page may be unmapped since. Nothing is found there then: [`read`] gives 0.
//!
//! What the program passes to a system call may be no memory of its own, of which the kernel would say EFAULT: [`fetch`] and
//! [`put`] tell.
//!
//! Atomic operations are carried out here, for the program: what it may not read or write faults as its own instruction would
//! ([`touch_to_read`], [`touch_to_write`]), and its handler is called.
use core::arch::global_asm;
use core::ffi::c_int;
use core::mem::MaybeUninit;

/// Functions that begin with an access to the word that `rdi` points to, and return what `rest` says.
macro_rules! accesses {
    ($($name:literal $access:literal $rest:literal)*) => {
        global_asm!(
            $(concat!(".hidden ", $name), concat!(".globl ", $name),)*
            ".text",
            $(concat!($name, ":"), $access, $rest, "ret",)*
        );
    };
}

accesses! {
    "corefold_peek_1" "movzx eax, byte ptr [rdi]" ""
    "corefold_peek_2" "movzx eax, word ptr [rdi]" ""
    "corefold_peek_4" "mov eax, dword ptr [rdi]" ""
    "corefold_peek_8" "mov rax, qword ptr [rdi]" ""
    "corefold_load" "cmp byte ptr [rdi], 0" "xor eax, eax"
    "corefold_load_again" "cmp byte ptr [rdi], 0" "mov eax, 1"
    "corefold_update_1" "or byte ptr [rdi], 0" "xor eax, eax"
    "corefold_update_2" "or word ptr [rdi], 0" "xor eax, eax"
    "corefold_update_4" "or dword ptr [rdi], 0" "xor eax, eax"
    "corefold_update_8" "or qword ptr [rdi], 0" "xor eax, eax"
    "corefold_update_again" "or byte ptr [rdi], 0" "mov eax, 1"
}

global_asm!(
    // corefold_copy(to, from, bytes): 1, or 0 if some of them cannot be copied.
    ".hidden corefold_copy",
    ".globl corefold_copy",
    ".hidden corefold_copy_moves",
    ".globl corefold_copy_moves",
    "corefold_copy:",
    "mov rcx, rdx",
    "corefold_copy_moves:",
    "rep movsb",
    "mov eax, 1",
    "ret",
);

type Peek = unsafe extern "C" fn(u64) -> u64;
type Touch = unsafe extern "C" fn(u64) -> u32;

unsafe extern "C" {
    fn corefold_peek_1(address: u64) -> u64;
    fn corefold_peek_2(address: u64) -> u64;
    fn corefold_peek_4(address: u64) -> u64;
    fn corefold_peek_8(address: u64) -> u64;
    fn corefold_copy(to: *mut u8, from: *const u8, bytes: usize) -> u32;
    fn corefold_copy_moves(address: u64) -> u64;
    fn corefold_load(address: u64) -> u32;
    fn corefold_load_again(address: u64) -> u32;
    fn corefold_update_1(address: u64) -> u32;
    fn corefold_update_2(address: u64) -> u32;
    fn corefold_update_4(address: u64) -> u32;
    fn corefold_update_8(address: u64) -> u32;
    fn corefold_update_again(address: u64) -> u32;
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

/// What stands there, of a kind of which all bytes are valid; `None`: it cannot be read.
pub fn fetch<T: Copy>(from: *const T) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: a fault is dealt with by `gives_up`; else all of the value has been written.
    unsafe { (corefold_copy(value.as_mut_ptr().cast(), from.cast(), size_of::<T>()) != 0).then(|| value.assume_init()) }
}

/// Writes to the program's variable; false: that is none.
pub fn put<T: Copy>(to: *mut T, value: T) -> bool {
    put_bytes(to.cast(), &raw const value as *const u8, size_of::<T>())
}

/// The same of some bytes of ours.
pub fn put_all(to: *mut u8, bytes: &[u8]) -> bool {
    put_bytes(to, bytes.as_ptr(), bytes.len())
}

fn put_bytes(to: *mut u8, from: *const u8, bytes: usize) -> bool {
    // SAFETY: the program has the kernel write there; a fault is dealt with by `gives_up`.
    unsafe { corefold_copy(to, from, bytes) != 0 }
}

/// Faults if the program may not read there. Returns whether it did and its handler has mended that: then other threads may
/// have run.
#[inline]
pub fn touch_to_read(address: u64) -> bool {
    // SAFETY: the program is about to read there; a fault is dealt with as the program's.
    unsafe { corefold_load(address) != 0 }
}

/// The same for `size` (1, 2, 4 or 8) bytes that the program is about to write. They keep their value.
#[inline]
pub fn touch_to_write(address: u64, size: u8) -> bool {
    // SAFETY: the program is about to write there; as above. One fiber runs at a time, so nobody else writes meanwhile.
    unsafe {
        0 != match size {
            1 => corefold_update_1(address),
            2 => corefold_update_2(address),
            4 => corefold_update_4(address),
            _ => corefold_update_8(address),
        }
    }
}

/// Was it one of the reads that faulted? Then it returns 0.
pub fn gives_up(signal: c_int, registers: &mut [i64]) -> bool {
    const READS: [Peek; 5] = [corefold_peek_1, corefold_peek_2, corefold_peek_4, corefold_peek_8, corefold_copy_moves];
    let at = registers[libc::REG_RIP as usize] as usize;
    if !matches!(signal, libc::SIGSEGV | libc::SIGBUS) || !READS.iter().any(|read| *read as usize == at) {
        return false;
    }
    let stack = registers[libc::REG_RSP as usize];
    registers[libc::REG_RAX as usize] = 0;
    // SAFETY: the return address is on top of the stack: none of them puts anything there.
    registers[libc::REG_RIP as usize] = unsafe { (stack as *const i64).read() };
    registers[libc::REG_RSP as usize] = stack + 8;
    true
}

/// Was it a touch that faulted, for the program? Once its handler returns, it is tried again, by the function that says so.
pub fn tries_again(registers: &mut [i64]) -> bool {
    const LOADS: [Touch; 2] = [corefold_load, corefold_load_again];
    const UPDATES: [Touch; 5] =
        [corefold_update_1, corefold_update_2, corefold_update_4, corefold_update_8, corefold_update_again];
    let at = registers[libc::REG_RIP as usize] as usize;
    let is_one_of = |touches: &[Touch]| touches.iter().any(|touch| *touch as usize == at);
    let again: Touch = match (is_one_of(&LOADS), is_one_of(&UPDATES)) {
        (true, _) => corefold_load_again,
        (_, true) => corefold_update_again,
        _ => return false,
    };
    registers[libc::REG_RIP as usize] = again as usize as i64;
    true
}
