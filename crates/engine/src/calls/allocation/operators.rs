// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++'s `operator new` and `operator delete`: from and to our heap, as libstdc++'s by way of `malloc`; or those of the
//! program and its libraries.
use crate::calls::allocation::libraries;
use crate::calls::allocation::malloc;
use crate::real;
use crate::registers;
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

/// None has more arguments.
type Arguments = [usize; 3];
type Theirs = unsafe extern "C-unwind" fn(usize, usize, usize) -> *mut c_void;

/// What the heap does. None: the C++ library's operator is to ask the program's new handler and throw.
type Ours = fn(Arguments, u64) -> Option<*mut c_void>;

fn call(cache: &AtomicUsize, name: &'static [u8], a: Arguments, pc: u64, ours: Ours) -> *mut c_void {
    let theirs = |function: usize| {
        registers::preserve();
        // SAFETY: an operator takes what ours was called with, in integer registers.
        unsafe { core::mem::transmute::<usize, Theirs>(function)(a[0], a[1], a[2]) }
    };
    match libraries::operator(cache, name) {
        Some(function) => theirs(function),
        None => ours(a, pc).unwrap_or_else(|| theirs(real::find(&AtomicUsize::new(0), name))),
    }
}

fn new(a: Arguments, pc: u64) -> Option<*mut c_void> {
    Some(malloc::allocate(a[0], pc)).filter(|object| !object.is_null())
}

fn new_aligned(a: Arguments, pc: u64) -> Option<*mut c_void> {
    Some(malloc::allocate_aligned(a[1], a[0], pc)).filter(|object| !object.is_null())
}

fn new_nothrow(a: Arguments, pc: u64) -> Option<*mut c_void> {
    Some(malloc::allocate(a[0], pc))
}

fn delete(a: Arguments, pc: u64) -> Option<*mut c_void> {
    malloc::release(a[0] as *mut c_void, pc);
    Some(core::ptr::null_mut())
}

macro_rules! operators {
    ($($name:ident $ours:ident;)*) => {$(
        const _: () = {
            extern "C-unwind" fn body(a: usize, b: usize, c: usize, pc: u64) -> *mut c_void {
                static THEIRS: AtomicUsize = AtomicUsize::new(0);
                call(&THEIRS, concat!(stringify!($name), "\0").as_bytes(), [a, b, c], pc, $ours)
            }
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() {
                core::arch::naked_asm!("mov rcx, [rsp]", "jmp {body}", body = sym body)
            }
        };
    )*};
}

operators! {
    _Znwm new; _Znam new; _ZnwmRKSt9nothrow_t new_nothrow; _ZnamRKSt9nothrow_t new_nothrow;
    _ZnwmSt11align_val_t new_aligned; _ZnamSt11align_val_t new_aligned; _ZdlPv delete; _ZdaPv delete; _ZdlPvm delete;
    _ZdaPvm delete; _ZdlPvSt11align_val_t delete; _ZdaPvSt11align_val_t delete; _ZdlPvmSt11align_val_t delete;
    _ZdaPvmSt11align_val_t delete; _ZdlPvRKSt9nothrow_t delete; _ZdaPvRKSt9nothrow_t delete;
}
