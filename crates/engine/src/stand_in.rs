// SPDX-License-Identifier: MIT OR Apache-2.0
//! How stand-ins for libc's functions are declared. In each body, `own` is libc's function.

/// Stand-ins that are libc's own functions while nothing is simulated. `=> { … }`: what they do then, in constructors of
/// libraries too.
macro_rules! stand_ins {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty
        $(=> $early:block)? $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> $result {
            #[allow(clippy::too_many_arguments)]
            fn own($($arg: $type),*) -> $result {
                $crate::real::real! { fn $name($($arg: $type),*) -> $result; }
                $name($($arg),*)
            }
            if !$crate::engine::active() {
                $(return $early;)?
                #[allow(unreachable_code)]
                return own($($arg),*);
            }
            $body
        }
    )*};
}
pub(crate) use stand_ins;

/// The same, for those that also have to know where they are called: `$pc` is the caller's address, and
/// `$register` where an argument after the last one goes.
macro_rules! stand_ins_at {
    ($($register:literal fn $name:ident($($arg:ident: $type:ty),* ; $pc:ident) -> $result:ty
        $(=> $early:block)? $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[allow(dead_code)]
            pub fn own($($arg: $type),*) -> $result {
                $crate::real::real! { fn $name($($arg: $type),*) -> $result; }
                $name($($arg),*)
            }
            pub extern "C" fn body($($arg: $type,)* $pc: u64) -> $result {
                if !$crate::engine::active() {
                    $(return $early;)?
                    #[allow(unreachable_code)]
                    return own($($arg),*);
                }
                $body
            }
            #[unsafe(naked)]
            #[unsafe(export_name = stringify!($name))]
            extern "C" fn entry() {
                core::arch::naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {body}", body = sym body)
            }
        }
    )*};
}
pub(crate) use stand_ins_at;

/// The same, for those that make something of what they are called by, too: `$call` is a [`Call`].
///
/// [`Call`]: crate::entry::Call
macro_rules! calls {
    ($(fn $name:ident($($arg:ident: $type:ty),* ; $call:ident) -> $result:ty $body:block)*) => {$(
        const _: () = {
            extern "C" fn body($($arg: $type,)* pc: u64) -> $result {
                if !$crate::engine::active() {
                    $crate::real::real! { fn $name($($arg: $type),*) -> $result; }
                    return $name($($arg),*);
                }
                let $call = $crate::entry::Call { name: stringify!($name), pc };
                $body
            }
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() {
                core::arch::naked_asm!(
                    concat!("mov ", $crate::entry::register!($($arg)*), ", [rsp]"),
                    "jmp {body}",
                    body = sym body,
                )
            }
        };
    )*};
}
pub(crate) use calls;

/// Sets the running thread's `errno`, and returns what goes with it.
pub fn failed(error: core::ffi::c_int) -> core::ffi::c_int {
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// The same of an error that may be none: for calls that set errno where others of their family return the error.
pub fn as_errno(error: core::ffi::c_int) -> core::ffi::c_int {
    if error == 0 { 0 } else { failed(error) }
}

/// What a system call's wrapper returns for what the system call returned.
pub fn result(code: i64) -> isize {
    if code < 0 { failed(-code as core::ffi::c_int) as isize } else { code as isize }
}
