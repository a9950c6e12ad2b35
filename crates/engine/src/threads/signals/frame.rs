// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handing a fault on to the program's handler: the kernel has put its frame on the runtime's stack for
//! signals, which all threads share, and a handler may run for long or never return. So the frame moves
//! to a stack of the thread's, and the handler goes on there as if the kernel had called it.
use super::{actions, blocking};
use crate::bytes::copy;
use core::arch::naked_asm;
use core::ffi::c_int;

/// The bytes below the stack pointer that code may use (the x86-64 ABI).
const RED_ZONE: u64 = 128;
/// Of the saved processor state: where it says how long it is (Linux's `struct _fpx_sw_bytes`).
const STATE_MAGIC: u64 = 464;
const STATE_BYTES: u64 = 468;
const MAGIC: u32 = 0x4650_5853;
/// The state without any extension.
const PLAIN_STATE: u64 = 512;
const INFORMATION_BYTES: u64 = 128;

fn state_bytes(state: u64) -> u64 {
    // SAFETY: the kernel's frame.
    unsafe {
        match *((state + STATE_MAGIC) as *const u32) {
            MAGIC => u64::from(*((state + STATE_BYTES) as *const u32)),
            _ => PLAIN_STATE,
        }
    }
}

/// Goes on in `handler`, on `stack` (begin, bytes) or below what the thread was doing.
///
/// # Safety
/// `information` and `context` are what the kernel passed to the handler that runs now.
pub unsafe fn go_on_in(
    handler: usize,
    signal: c_int,
    information: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
    stack: Option<(u64, u64)>,
) -> ! {
    // SAFETY: as the caller says.
    let (sp, state) = unsafe {
        let machine = &(*context).uc_mcontext;
        (machine.gregs[libc::REG_RSP as usize] as u64, machine.fpregs as u64)
    };
    // The return address of the handler, the context, the information; further up, the state.
    let (from, to) = (context as u64 - 8, information as u64 + INFORMATION_BYTES);
    let top = match stack {
        Some((begin, bytes)) if !(begin..begin + bytes).contains(&sp) => begin + bytes,
        _ => sp - RED_ZONE,
    };
    let bytes = if state == 0 { 0 } else { state_bytes(state) };
    let new_state = (top - bytes) / 64 * 64;
    // As after a call: the stack pointer is 8 above a multiple of 16.
    let new = (new_state - (to - from)) / 16 * 16 - 8;
    copy(new_state, state, bytes);
    copy(new, from, to - from);
    let moved = |at: u64| at - from + new;
    let new_context = moved(context as u64);
    // SAFETY: the copy.
    unsafe {
        if state != 0 {
            (*(new_context as *mut libc::ucontext_t)).uc_mcontext.fpregs = new_state as *mut _;
        }
        // The kernel had it return to libc's code, which goes straight back to the kernel.
        *(new as *mut u64) = handler_return as *const () as u64 + 1;
        enter(handler, signal, moved(information as u64), new_context, new)
    }
}

#[unsafe(naked)]
unsafe extern "C" fn enter(_handler: usize, _signal: c_int, _information: u64, _context: u64, _sp: u64) -> ! {
    naked_asm!("mov rsp, r8", "mov rax, rdi", "mov edi, esi", "mov rsi, rdx", "mov rdx, rcx", "jmp rax")
}

/// A general register stands so far into the frame, whose beginning `rsp` points to: what an unwinder needs.
macro_rules! saved {
    ($register:literal, $at:literal) => {
        concat!(".cfi_escape 0x10, ", $register, ", 3, 0x77, (", $at, " & 0x7f) | 0x80, ", $at, " >> 7")
    };
}

/// Where a fault's handler returns to: `rsp` points to its context. One byte in, as unwinders look for what
/// stands before a return address.
#[unsafe(naked)]
extern "C" fn handler_return() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_signal_frame",
        // The caller's frame address is the saved rsp.
        ".cfi_escape 0x0f, 4, 0x77, (160 & 0x7f) | 0x80, 160 >> 7, 0x06",
        saved!(8, 40), saved!(9, 48), saved!(10, 56), saved!(11, 64), saved!(12, 72), saved!(13, 80),
        saved!(14, 88), saved!(15, 96), saved!(5, 104), saved!(4, 112), saved!(6, 120), saved!(3, 128),
        saved!(1, 136), saved!(0, 144), saved!(2, 152), saved!(16, 168),
        "nop",
        "mov rdi, rsp",
        "call {returns}",
        "mov eax, {sigreturn}",
        "syscall",
        ".cfi_endproc",
        returns = sym handler_returns,
        sigreturn = const libc::SYS_rt_sigreturn,
    )
}

/// A fault's handler returns: the mask is as its frame says, and the carrier's own stays empty.
extern "C" fn handler_returns(context: *mut libc::ucontext_t) {
    // SAFETY: the frame that the handler was given, on the thread's stack.
    unsafe {
        let mask = actions::bits(&(*context).uc_sigmask);
        actions::set_bits(&mut (*context).uc_sigmask, 0);
        blocking::change(mask);
    }
}
