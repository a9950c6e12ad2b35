// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals are delivered: the program's handler runs in the thread that takes it, or the run ends.
//!
//! A handler is called as a function from where the thread looks for signals; the context that it is given
//! holds its mask, its place and its stack pointer, and no other register.
use super::actions::{self, Action, Default};
use super::blocking::mask_changed;
use super::pending::{PROCESS, reconsider};
use crate::engine::{charge, launch};
use crate::scheduling::fiber::current;
use crate::scheduling::sched;
use crate::state::signals::{Information, bit};
use crate::threads::cancel;
use alloc::format;
use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

#[cold]
pub fn look(pc: u64) {
    cancel::at_once();
    deliver(pc);
}

/// Delivers all that the running thread does not block. `None`: there was nothing; else whether the call
/// that was interrupted is to go on (the first handler's SA_RESTART).
pub fn deliver(pc: u64) -> Option<bool> {
    let mut restarts = None;
    while let Some(information) = next() {
        let signal = information.signal;
        match actions::action(signal) {
            Action::Ignore => {}
            Action::Default => by_default(signal, pc),
            Action::Handler(action) => {
                restarts.get_or_insert(action.sa_flags & libc::SA_RESTART != 0);
                run(information, &action, pc);
            }
        }
    }
    reconsider();
    restarts
}

fn next() -> Option<Information> {
    let taken = !current().signals.mask.get();
    let mut next = current()
        .signals
        .pending
        .with(|pending| pending.take(taken))
        .or_else(|| PROCESS.with(|process| process.pending.take(taken)))?;
    crate::threads::timers::delivered(&mut next);
    Some(next)
}

fn by_default(signal: c_int, pc: u64) {
    match actions::default_of(signal) {
        Default::Nothing => {}
        Default::End => crate::ending::killed(signal, pc),
        Default::Stop => crate::ending::unsupported(
            &format!("the program stops itself with signal {signal}, and nothing could continue it"),
            pc,
        ),
    }
}

/// Runs the handler: first those of signals that it does not block, which Linux puts on top of it.
fn run(mut information: Information, action: &libc::sigaction, pc: u64) {
    let signal = information.signal;
    let mine = &current().signals;
    let before = mine.saved.take().unwrap_or(mine.mask.get());
    // SAFETY: the program's set, which we have a copy of.
    let added = unsafe { actions::bits(&action.sa_mask) };
    let itself = if action.sa_flags & libc::SA_NODEFER != 0 { 0 } else { bit(signal) };
    mine.mask.update(|mask| mask | added | itself);
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        actions::reset(signal);
    }
    // The interrupt, and the handler's frame.
    charge(launch().machine.system.syscall);
    deliver(pc);
    // SAFETY: a zeroed context is valid.
    let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
    context.uc_mcontext.gregs[libc::REG_RIP as usize] = pc as i64;
    context.uc_mcontext.gregs[libc::REG_RSP as usize] = &raw const context as i64;
    let registers = context.uc_mcontext.gregs;
    let top = own_stack(action, &raw const context as u64);
    if let Some((begin, bytes)) = current().signals.stack.get() {
        let flags = if top == 0 { 0 } else { libc::SS_ONSTACK };
        context.uc_stack = libc::stack_t { ss_sp: begin as *mut c_void, ss_flags: flags, ss_size: bytes as usize };
    }
    // SAFETY: our own context; the program's handler has this type, or one that ignores the last two.
    unsafe {
        actions::set_bits(&mut context.uc_sigmask, before);
        let pointer = (&raw mut context).cast();
        call(action.sa_sigaction, signal, information.as_kernels(), pointer, top);
    }
    if context.uc_mcontext.gregs != registers {
        crate::ending::unsupported(
            "a signal handler changes the interrupted thread's program counter or registers",
            pc,
        );
    }
    // The return from the handler is a system call.
    sched::enter_kernel();
    // SAFETY: the context's own set, as the handler has left it.
    current().signals.mask.set(unsafe { actions::bits(&context.uc_sigmask) });
    mask_changed(before);
}

/// The end of the stack that the handler is to run on; 0: the one that the thread is on, at `sp`.
fn own_stack(action: &libc::sigaction, sp: u64) -> u64 {
    let usable = |(begin, bytes): &(u64, u64)| {
        action.sa_flags & libc::SA_ONSTACK != 0 && !(*begin..*begin + *bytes).contains(&sp)
    };
    current().signals.stack.get().filter(usable).map_or(0, |(begin, bytes)| begin + bytes)
}

/// Calls `handler` on the stack that ends at `top`, or on this one if that is 0. An unwinder passes it.
#[unsafe(naked)]
unsafe extern "C-unwind" fn call(
    _handler: usize,
    _signal: c_int,
    _information: *mut libc::siginfo_t,
    _context: *mut c_void,
    _top: u64,
) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "test r8, r8",
        "cmovnz rsp, r8",
        "and rsp, -16",
        "mov rax, rdi",
        "mov edi, esi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "call rax",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}
