// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread_exit: cleanup handlers and C++ destructors of the thread's frames run, then the thread ends.
//!
//! glibc's own would unwind into glibc's start routine, on the carrier's kernel thread; so the frames
//! are unwound up to ours, by the same forced unwinding.
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::stacks;
use crate::state::pthread::Start;
use crate::sys;
use alloc::boxed::Box;
use core::ffi::{c_int, c_void};

core::arch::global_asm!(
    // corefold_call(start, argument, &sp): like calling start(argument), but corefold_leave can return
    // from it later: it only needs the stack pointer, as callee-saved registers are on the stack.
    ".globl corefold_call",
    ".hidden corefold_call",
    ".type corefold_call,@function",
    "corefold_call:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "mov [rdx], rsp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "2: add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".globl corefold_leave",
    ".hidden corefold_leave",
    "corefold_leave:",
    "mov rsp, rdi",
    "mov rax, rsi",
    "jmp 2b",
);

unsafe extern "C-unwind" {
    fn corefold_call(start: Start, argument: usize, sp: *mut usize) -> usize;
    fn corefold_leave(sp: usize, value: usize) -> !;
    fn _Unwind_ForcedUnwind(exception: *mut c_void, stop: StopFn, argument: *mut c_void) -> c_int;
}

type StopFn = extern "C-unwind" fn(c_int, c_int, u64, *mut c_void, *mut c_void, *mut c_void) -> c_int;

/// Calls the start routine; returns its value or pthread_exit's.
pub fn call(start: Start, argument: usize) -> usize {
    let base = current().base.sp.as_ptr();
    // SAFETY: the assembly above.
    unsafe { corefold_call(start, argument, base) }
}

/// Ends the running thread.
pub fn exit(value: usize) -> ! {
    current().cancel.ending.set(true);
    current().base.value.set(value);
    unwind()
}

/// glibc's C macro pthread_cleanup_push leaves jump buffers; each handler calls __pthread_unwind_next.
fn run_cleanup() -> ! {
    unsafe extern "C" {
        #[link_name = "siglongjmp"]
        fn long_jump(buffer: *mut c_void, value: c_int) -> !;
    }
    let buffer = current().thread.cleanup.get();
    // SAFETY: registered by the program's own frame, which is live. Word 9 holds the next one (see
    // `__pthread_register_cancel`).
    unsafe {
        current().thread.cleanup.set(*(buffer as *const usize).add(9));
        long_jump(buffer as *mut c_void, 1)
    }
}

fn unwind() -> ! {
    // The exception object: class, cleanup function and two private words, with room to spare.
    let exception = Box::leak(Box::new([0u64; 8]));
    exception[1] = not_rethrown as *const () as u64;
    // SAFETY: the object lives for ever; the stop function ends the unwinding at our frame.
    unsafe { _Unwind_ForcedUnwind(exception.as_mut_ptr().cast(), stop, core::ptr::null_mut()) };
    leave()
}

/// A `catch (...)` of the program's has kept the exception.
extern "C" fn not_rethrown(_reason: c_int, _exception: *mut c_void) {
    sys::write(2, b"FATAL: exception not rethrown\n");
    crate::ending::killed(libc::SIGABRT, 0);
}

/// All frames are unwound. The main thread has none of ours below it: it ends where it is.
fn leave() -> ! {
    if current().thread.cleanup.get() != 0 {
        run_cleanup();
    }
    hot().frames.set(current().frames_base);
    let base = &current().base;
    if let Some(finish) = base.finish {
        finish(base.value.get());
    }
    // SAFETY: `corefold_call`'s frame is live below all that was unwound.
    unsafe { corefold_leave(base.sp.get(), base.value.get()) }
}

const END_OF_STACK: c_int = 16;

extern "C-unwind" fn stop(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    context: *mut c_void,
    _: *mut c_void,
) -> c_int {
    unsafe extern "C" {
        fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    }
    // SAFETY: the unwinder's own context.
    let frame = unsafe { _Unwind_GetCFA(context) };
    let cleanup = current().thread.cleanup.get();
    if cleanup != 0 && frame as u64 > sp_in(cleanup as *const u64) && same_stack(frame, cleanup) {
        run_cleanup();
    }
    let base = current().base.sp.get();
    if actions & END_OF_STACK != 0 || base != 0 && frame > base && same_stack(frame, base) {
        leave();
    }
    0
}

/// The stack pointer in a jump buffer, which glibc writes down in a way of its own.
pub fn sp_in(buffer: *const u64) -> u64 {
    const SP: usize = 6;
    const TURNED: u32 = 17;
    let guard: u64;
    // SAFETY: the buffer was filled by setjmp; glibc keeps the guard at this place of a thread's block.
    unsafe {
        core::arch::asm!("mov {}, fs:0x30", out(reg) guard, options(nostack, readonly, preserves_flags));
        (*buffer.add(SP)).rotate_right(TURNED) ^ guard
    }
}

/// Are both on one thread's stack? Handlers may run on stacks of their own, which lie anywhere.
fn same_stack(one: usize, other: usize) -> bool {
    stacks::stack_end(one as u64) == stacks::stack_end(other as u64)
}

/// glibc's macros in C: remembers the buffer, as pthread_exit has to jump to it.
#[unsafe(no_mangle)]
pub extern "C" fn __pthread_register_cancel(buffer: *mut usize) {
    if !crate::engine::active() {
        crate::real::real! { fn __pthread_register_cancel(buffer: *mut usize) -> (); }
        return __pthread_register_cancel(buffer);
    }
    // SAFETY: `__pthread_unwind_buf_t` has four private words after the nine of its jump buffer.
    unsafe { *buffer.add(9) = current().thread.cleanup.get() };
    current().thread.cleanup.set(buffer as usize);
}

#[unsafe(no_mangle)]
pub extern "C" fn __pthread_unregister_cancel(buffer: *mut usize) {
    if !crate::engine::active() {
        crate::real::real! { fn __pthread_unregister_cancel(buffer: *mut usize) -> (); }
        return __pthread_unregister_cancel(buffer);
    }
    // SAFETY: as above.
    current().thread.cleanup.set(unsafe { *buffer.add(9) });
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn __pthread_unwind_next(buffer: *mut usize) -> ! {
    if !crate::engine::active() {
        crate::real::real! { fn __pthread_unwind_next(buffer: *mut usize) -> !; }
        __pthread_unwind_next(buffer)
    }
    unwind()
}
