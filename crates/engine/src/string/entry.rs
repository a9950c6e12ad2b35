// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a call of a memory or string function comes to its stand-in.
//!
//! The runtime is Rust, whose compiler calls memcpy and its like at will; those calls come here too, as
//! the symbols are ours. So a call whose return address lies in the runtime's own code goes straight on
//! to libc's function, and so does every call while nothing is simulated.
use core::sync::atomic::{AtomicU64, Ordering};

/// The runtime's code. Zero until [`find_own_code`]: nothing is simulated before.
#[repr(C)]
pub struct Code {
    begin: AtomicU64,
    bytes: AtomicU64,
}

pub static CODE: Code = Code { begin: AtomicU64::new(0), bytes: AtomicU64::new(0) };

unsafe extern "C" {
    /// Defined by the linker: the first byte of the runtime's image.
    static __ehdr_start: libc::Elf64_Ehdr;
}

/// Learns where the runtime's own code lies.
pub fn find_own_code() {
    let base = &raw const __ehdr_start as u64;
    // SAFETY: an ELF file's image begins with its header, and its program headers are mapped with it.
    let headers = unsafe {
        let first = (base + __ehdr_start.e_phoff) as *const libc::Elf64_Phdr;
        core::slice::from_raw_parts(first, usize::from(__ehdr_start.e_phnum))
    };
    let runs = |h: &&libc::Elf64_Phdr| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0;
    if let Some(code) = headers.iter().find(runs) {
        CODE.begin.store(base + code.p_vaddr, Ordering::Relaxed);
        CODE.bytes.store(code.p_memsz, Ordering::Relaxed);
    }
}

/// Is `pc` in the runtime's own code?
pub fn is_own(pc: u64) -> bool {
    pc.wrapping_sub(CODE.begin.load(Ordering::Relaxed)) < CODE.bytes.load(Ordering::Relaxed)
}

/// Declares a module for libc's function `$name`: `real`, which calls it, and the exported entry, which
/// has `body` carry out the program's calls. `$register` is where an argument after the last one goes;
/// `body` gets the caller's address there.
macro_rules! stand_in {
    ($name:ident($($arg:ident),*) $register:literal $body:item) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::passing::slot!($name);
            #[inline]
            #[allow(dead_code)]
            pub fn real($($arg: u64),*) -> u64 {
                // SAFETY: libc's function has as many arguments, all in integer registers; where it
                // returns less than 8 bytes, the caller looks at no more.
                unsafe {
                    let function: unsafe extern "C" fn($($crate::string::entry::word!($arg)),*) -> u64 =
                        core::mem::transmute(SLOT.function());
                    function($($arg),*)
                }
            }
            $body
            #[unsafe(naked)]
            #[unsafe(export_name = stringify!($name))]
            pub extern "C" fn entry() {
                core::arch::naked_asm!(
                    "cmp byte ptr [rip + {active}], 0",
                    "je 2f",
                    concat!("mov ", $register, ", [rsp]"),
                    concat!("mov rax, ", $register),
                    "sub rax, [rip + {code}]",
                    "cmp rax, [rip + {code} + 8]",
                    "jae {body}",
                    "2: jmp [rip + {slot}]",
                    active = sym $crate::engine::ACTIVE,
                    code = sym $crate::string::entry::CODE,
                    body = sym body,
                    slot = sym SLOT,
                )
            }
        }
    };
}
pub(crate) use stand_in;

macro_rules! word {
    ($arg:ident) => {
        u64
    };
}
pub(crate) use word;

/// Stand-ins whose accesses are known beforehand: `$account` gets the arguments and the caller's address.
macro_rules! accounted {
    ($($name:ident($($arg:ident),*) $register:literal $account:ident;)*) => {$(
        $crate::string::entry::stand_in! { $name($($arg),*) $register
            extern "C" fn body($($arg: u64,)* pc: u64) -> u64 {
                $account($($arg,)* pc);
                real($($arg),*)
            }
        }
    )*};
}
pub(crate) use accounted;

/// Stand-ins whose result says what they read: `$account` gets it too, before the caller's address.
macro_rules! searched {
    ($($name:ident($($arg:ident),*) $register:literal $account:ident;)*) => {$(
        $crate::string::entry::stand_in! { $name($($arg),*) $register
            extern "C" fn body($($arg: u64,)* pc: u64) -> u64 {
                let result = real($($arg),*);
                $account($($arg,)* result, pc);
                result
            }
        }
    )*};
}
pub(crate) use searched;
