// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stack of the runtime's own, for work that must not run on one of the program's, or needs much room.
use crate::sys;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::mem::ManuallyDrop;

const BYTES: usize = 64 << 10;

const PAGE: u64 = 4096;

#[repr(align(4096))]
struct Room(UnsafeCell<[u8; BYTES]>);
// SAFETY: used as a stack, by the carrier only.
unsafe impl Sync for Room {}
static ROOM: Room = Room(UnsafeCell::new([0; BYTES]));

/// Nothing may be put into the first page from now on: more than the stack holds ends in a fault.
pub fn guard() {
    // If that fails, all else works as well.
    let _ = sys::protect(ROOM.0.get() as u64, PAGE, libc::PROT_NONE);
}

/// Where the neutral stack ends.
pub fn top() -> usize {
    ROOM.0.get() as usize + BYTES
}

/// Does `work` on the neutral stack. What it uses must not lie on the stack that is in use now.
pub fn apart<W: FnOnce()>(work: W) {
    extern "C" fn on_it<W: FnOnce()>(work: *mut u8) {
        // SAFETY: what `apart` was given, moved here once, before anything of its stack is overwritten.
        let work = unsafe { work.cast::<W>().read() };
        work();
    }
    let mut work = ManuallyDrop::new(work);
    let top = top();
    if (top - BYTES..top).contains(&(&raw const work as usize)) {
        return ManuallyDrop::into_inner(work)();
    }
    // SAFETY: nobody is on the neutral stack: what runs there switches no fibers.
    unsafe { call_on(top, (&raw mut work).cast(), on_it::<W>) }
}

/// The result of `work` that needs much of a stack: the program may be on one of its own making, and a small one. It writes to
/// no memory of the program's.
pub fn deep<R>(work: impl FnOnce() -> R) -> R {
    let mut result = None;
    apart(|| result = Some(work()));
    match result {
        Some(result) => result,
        None => sys::engine_fault("what was to be done on the neutral stack was not"),
    }
}

/// Calls `work` on the stack that ends at `top`.
#[unsafe(naked)]
unsafe extern "C" fn call_on(_top: usize, _argument: *mut u8, _work: extern "C" fn(*mut u8)) {
    naked_asm!("push rbp", "mov rbp, rsp", "mov rsp, rdi", "mov rdi, rsi", "call rdx", "mov rsp, rbp", "pop rbp", "ret")
}
