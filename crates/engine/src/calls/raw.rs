// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that code makes by instructions of its own: libgomp waits so, and inline assembly. They would
//! block the one thread that runs all of ours, so the kernel is told to send a signal instead ([`filter`]),
//! and its handler makes the call as `syscall()` would. It runs on the thread's own stack, so others can go
//! on meanwhile, and the kernel has kept every register.
//!
//! Only files with such instructions in them get a filter: to all other programs nothing changes.
mod filter;

use crate::calls::system_call;
use crate::calls::within;
use crate::code;
use crate::code::system_calls;
use crate::code::system_calls::{INSTRUCTION, Range};
use crate::code::{innermost, instrumented, loaded};
use crate::engine::{active, note};
use crate::hooks::{awaited, branches, decoded, results};
use crate::hot::hot;
use crate::scheduling::fiber::current;
use crate::scheduling::unhooked;
use crate::sys;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};

/// Code that is scanned at a time.
const PIECE: usize = 4096;

/// Catches them from here on, in files that are loaded later too.
pub fn catch() {
    scan();
    // The loader calls it whenever files come and go, for debuggers: before their constructors run.
    if !within::replace_function(c"_dl_debug_state", look as *const () as usize) {
        let what = "unexpected dynamic loader: the code of libraries loaded later takes no time, and their system calls may \
                    block all threads";
        note(what, 0);
    }
}

extern "C" fn look() {
    if active() {
        loaded::files_changed();
        scan();
    }
}

/// Scans the files that are new.
fn scan() {
    let mut found = Found::default();
    // SAFETY: the callback gets them back as its argument.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    let Found { mut loaded, systems } = found;
    let known = system_calls::with(|files| {
        files.systems = systems;
        core::mem::replace(&mut files.known, loaded.clone())
    });
    let gone = |pc: u64| known.iter().any(|range| (range.begin..range.end).contains(&pc) && !loaded.contains(range));
    awaited::forget(gone);
    branches::forget(gone);
    decoded::forget(gone);
    results::forget();
    unhooked::forget(gone);
    system_calls::with(|files| loaded.retain(|range| !known.contains(range) && !files.caught.contains(range)));
    if unhooked::files_changed(system_calls::with(|files| {
        files.known.iter().any(|range| !instrumented::is_programs(range.begin))
    })) {
        branches::start_anew();
    }
    for range in loaded.into_iter().filter(makes_calls) {
        if filter::send_signals(range.begin, range.end) {
            handle();
            system_calls::with(|files| files.caught.push(range));
        } else {
            let what = "the kernel does not let the runtime intercept system calls (seccomp): those that libraries \
                        make without libc may block all threads";
            note(what, 0);
        }
    }
}

#[derive(Default)]
struct Found {
    loaded: Vec<Range>,
    systems: Vec<Range>,
}

/// Adds the code of a file, unless it is our own or libc's. Of the other libraries of the language, the simulation stands in
/// for functions, or they have bytes that only look like such instructions.
unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    const SYSTEMS: [&[u8]; 8] =
        [b"ld-linux", b"linux-vdso", b"libpthread", b"librt.", b"libanl.", b"libm.", b"libgcc_s.", b"libstdc++."];
    // SAFETY: as dl_iterate_phdr documents; the loader's own tables.
    unsafe {
        let (info, into) = (&*info, &mut *into.cast::<Found>());
        let path = CStr::from_ptr(info.dlpi_name).to_bytes();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_system = SYSTEMS.iter().any(|known| name.starts_with(known));
        let list = if is_system { &mut into.systems } else { &mut into.loaded };
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        for h in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0) {
            let begin = info.dlpi_addr + h.p_vaddr;
            if !code::is_own(begin) && !code::is_libc(begin) {
                list.push(Range { begin, end: begin + h.p_memsz });
            }
        }
    }
    0
}

/// May there be system calls? Bytes that only look like one do no harm.
fn makes_calls(range: &Range) -> bool {
    // SAFETY: the code of a loaded file.
    let code = unsafe { core::slice::from_raw_parts(range.begin as *const u8, (range.end - range.begin) as usize) };
    let last = code.len().saturating_sub(1);
    // Without branches within a piece, so that the compiler makes vectors of it.
    let found = |at: usize| {
        let (first, second) = (&code[at..last.min(at + PIECE)], &code[at + 1..]);
        first.iter().zip(second).fold(false, |any, (a, b)| any | (*a == INSTRUCTION[0]) & (*b == INSTRUCTION[1]))
    };
    (0..last).step_by(PIECE).any(found)
}

fn handle() {
    // SAFETY: a zeroed sigaction is valid; the handler has the SA_SIGINFO type. Not on the stack for signals,
    // which all threads share: the thread may wait in it.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = on_call as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        libc::sigaction(libc::SIGSYS, &action, core::ptr::null_mut());
    }
}

/// The thread was about to make a system call; what it returns is what the call would.
extern "C" fn on_call(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    const SYS_SECCOMP: c_int = 1;
    // SAFETY: the kernel passes both for SA_SIGINFO handlers.
    let (code, registers) =
        unsafe { ((*information).si_code, &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs) };
    let register = |at: c_int| registers[at as usize] as u64;
    let pc = register(libc::REG_RIP);
    if code != SYS_SECCOMP {
        crate::ending::killed(signal, pc);
    }
    crate::account::host::mixed();
    let number = register(libc::REG_RAX) as i64;
    let arguments =
        [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9].map(register);
    let result = if active() {
        let place =
            innermost::calling(pc, register(libc::REG_RSP), current().calls(hot().frames.get()).next()).unwrap_or(pc);
        system_call::by_instruction(number, &arguments, place)
    } else {
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: the program's own call.
        unsafe { sys::syscall6(number, a, b, c, d, e, f) }
    };
    registers[libc::REG_RAX as usize] = result;
}
