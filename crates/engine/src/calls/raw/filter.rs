// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's filter (seccomp): system calls made by code within a range become a signal.
use crate::sys;
use libc::{sock_filter, sock_fprog};

/// What a filter can look at, by its offset (Linux's `struct seccomp_data`).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const INSTRUCTION: u32 = 8;
const INSTRUCTION_HIGH: u32 = 12;
const X86_64: u32 = 0xc000_003e;

/// Instructions of a filter: load a word, compare it with a constant and skip, return.
const LOAD: u16 = 0x20;
const IS: u16 = 0x15;
const IS_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const SEND_SIGNAL: u32 = 0x0003_0000;
const ALLOW: u32 = 0x7fff_0000;

const fn plain(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Goes on with the next instruction, or skips so many: if it holds, and if not.
const fn jump(code: u16, k: u32, holds: u8, holds_not: u8) -> sock_filter {
    sock_filter { code, jt: holds, jf: holds_not, k }
}

/// Has system calls of the code from `begin` to `end` send SIGSYS. False: the kernel does not.
pub fn send_signals(begin: u64, end: u64) -> bool {
    const HIGH: u64 = 1 << 32;
    // The kernel compares words of 32 bits; and it names the place behind the instruction.
    let last = end;
    if begin / HIGH != last / HIGH {
        let border = last / HIGH * HIGH;
        return send_signals(begin, border - 1) && send_signals(border, end);
    }
    install(&[
        plain(LOAD, ARCHITECTURE),
        jump(IS, X86_64, 0, 8),
        plain(LOAD, INSTRUCTION_HIGH),
        jump(IS, (begin / HIGH) as u32, 0, 6),
        plain(LOAD, INSTRUCTION),
        jump(IS_AT_LEAST, begin as u32, 0, 4),
        jump(IS_AT_LEAST, (last as u32).saturating_add(1), 3, 0),
        plain(LOAD, NUMBER),
        // A signal handler's return, which only the kernel can make.
        jump(IS, libc::SYS_rt_sigreturn as u32, 1, 0),
        plain(RETURN, SEND_SIGNAL),
        plain(RETURN, ALLOW),
    ])
}

fn install(program: &[sock_filter]) -> bool {
    let filter = sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // The program does not get slower: without this the processor would speculate less.
    const FLAGS: u64 = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: a filter for this process; the first is what the kernel asks of whoever sets one up.
    unsafe {
        sys::syscall!(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1; 0, 0, 0, 0) == 0
            && sys::syscall!(libc::SYS_seccomp, mode, FLAGS, &raw const filter; 0, 0, 0) == 0
    }
}
