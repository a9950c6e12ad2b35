// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread_once, which std::call_once is built on.
//!
//! The routine may throw, or end the thread: then the object must be free again for others. No foreign
//! exception may pass a frame of ours in Rust; so the frame that calls the routine is written in
//! assembly, and its personality does the clean-up.
use crate::engine::active;
use crate::entry::Call;
use crate::personality;
use crate::threads::object::Object;
use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

const STATE: u64 = 0;
const NOT_BEGUN: u32 = 0;
const RUNNING: u32 = 1;
const DONE: u32 = 2;

/// What [`begin`] has its caller do; any other value is libc's own pthread_once, to be called instead.
const RETURN: usize = 0;
const RUN: usize = 1;

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pthread_once(_once: u64, _routine: extern "C-unwind" fn()) -> c_int {
    naked_asm!(
        ".cfi_startproc",
        // 0x1b: the personality's address, relative to here, in 4 bytes.
        ".cfi_personality 0x1b, {personality}",
        "push rbx",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbx, -16",
        "push r12",
        ".cfi_def_cfa_offset 24",
        ".cfi_offset r12, -24",
        "sub rsp, 8",
        ".cfi_def_cfa_offset 32",
        "mov rbx, rdi",
        "mov r12, rsi",
        "mov rsi, [rsp + 24]",
        "call {begin}",
        "cmp rax, {run}",
        "jb 3f",
        "ja 4f",
        "call r12",
        "mov rdi, rbx",
        "mov rsi, [rsp + 24]",
        "mov edx, {done}",
        "call {end}",
        "3: xor eax, eax",
        "add rsp, 8",
        ".cfi_remember_state",
        ".cfi_def_cfa_offset 24",
        "pop r12",
        ".cfi_def_cfa_offset 16",
        "pop rbx",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_restore_state",
        "4: mov rdi, rbx",
        "mov rsi, r12",
        "add rsp, 8",
        ".cfi_def_cfa_offset 24",
        "pop r12",
        ".cfi_def_cfa_offset 16",
        "pop rbx",
        ".cfi_def_cfa_offset 8",
        "jmp rax",
        ".cfi_endproc",
        personality = sym personality,
        begin = sym begin,
        run = const RUN,
        done = const DONE,
        end = sym end,
    )
}

fn object(once: u64, pc: u64) -> Object {
    Object::called(once, Call { name: "pthread_once", pc })
}

/// Returns [`RUN`] to the one thread that is to run the routine, [`RETURN`] once it has been run.
extern "C" fn begin(once: u64, pc: u64) -> usize {
    if !active() {
        return native();
    }
    let once = object(once, pc);
    loop {
        if once.load(STATE) == DONE {
            once.is_done();
            return RETURN;
        }
        match once.update(STATE, |state| (state == NOT_BEGUN).then_some(RUNNING)) {
            NOT_BEGUN => return RUN,
            DONE => return RETURN,
            running => _ = once.wait(STATE, running, None),
        }
    }
}

/// The routine has returned, or was left by an exception: `state` is what follows from that.
extern "C" fn end(once: u64, pc: u64, state: u32) {
    let once = object(once, pc);
    once.store(STATE, state);
    once.wake(STATE, u32::MAX);
}

fn native() -> usize {
    static CACHE: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
    crate::real::find(&CACHE, b"pthread_once\0")
}

/// The unwinder asks what to do at the frame above: if it goes past it, the object is not begun again.
extern "C" fn personality(
    _version: c_int,
    actions: c_int,
    _class: u64,
    _exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    // The frame keeps the object's address in that register.
    if let Some(once) = personality::passed(actions, context, personality::RBX) {
        end(once, 0, NOT_BEGUN);
    }
    personality::CONTINUE
}
