// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a call of a memory or string function comes to its stand-in.
//!
//! The runtime is Rust, whose compiler calls memcpy and its like at will; those calls come here too, as
//! the symbols are ours. So a call whose return address lies in the runtime's own code goes straight on
//! to libc's function, and so does every call while nothing is simulated.
/// Declares a module for libc's function `$name`: `real`, which calls it, and the exported entry, which
/// has `body` carry out the program's calls. `$register` is where an argument after the last one goes;
/// `body` gets the caller's address there.
macro_rules! stand_in {
    ($name:ident($($arg:ident),*) $register:literal $body:item) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::trampoline::slot!($name);
            #[inline]
            #[allow(dead_code)]
            pub fn real($($arg: u64),*) -> u64 {
                // SAFETY: libc's function has as many arguments, all in integer registers; where it
                // returns less than 8 bytes, the caller looks at no more.
                unsafe {
                    let function: unsafe extern "C" fn($($crate::calls::string::entry::word!($arg)),*) -> u64 =
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
                    "cmp qword ptr [rip + {unsaved}], 0",
                    "je 2f",
                    "call {preserve}",
                    "2: jmp [rip + {slot}]",
                    active = sym $crate::engine::ACTIVE,
                    code = sym $crate::code::OWN,
                    body = sym body,
                    slot = sym SLOT,
                    unsaved = sym $crate::registers::UNSAVED,
                    preserve = sym $crate::registers::corefold_preserve,
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
        $crate::calls::string::entry::stand_in! { $name($($arg),*) $register
            extern "C" fn body($($arg: u64,)* pc: u64) -> u64 {
                $account($($arg,)* pc);
                $crate::account::host::accounted(pc);
                real($($arg),*)
            }
        }
    )*};
}
pub(crate) use accounted;

/// Stand-ins whose result says what they read: `$account` gets it too, before the caller's address.
macro_rules! searched {
    ($($name:ident($($arg:ident),*) $register:literal $account:ident;)*) => {$(
        $crate::calls::string::entry::stand_in! { $name($($arg),*) $register
            extern "C" fn body($($arg: u64,)* pc: u64) -> u64 {
                let result = real($($arg),*);
                $account($($arg,)* result, pc);
                result
            }
        }
    )*};
}
pub(crate) use searched;
