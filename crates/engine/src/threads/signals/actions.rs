// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done about each signal.
use super::pending::{COUNT, PROCESS};
use crate::state::signals::FROM_OUTSIDE;
use core::ffi::c_int;
use core::sync::atomic::Ordering;

pub use crate::state::signals::bit;

/// Faults, which the runtime looks at first: some are the program reading the processor's clock.
pub const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// Those that glibc keeps for itself, and those that cannot be blocked.
const KEPT: u64 = 0b11 << 31;
pub const UNBLOCKABLE: u64 = 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);

pub fn is_valid(signal: c_int) -> bool {
    signal > 0 && (signal as usize) < COUNT
}

/// May a program send, block or handle it?
pub fn is_programs(signal: c_int) -> bool {
    is_valid(signal) && KEPT & bit(signal) == 0
}

/// A set's signals that can be blocked or waited for.
///
/// # Safety
/// A set of the program's.
pub unsafe fn bits(set: *const libc::sigset_t) -> u64 {
    // SAFETY: as the caller says; the set's first word holds all that Linux has.
    unsafe { *set.cast::<u64>() & !KEPT & !UNBLOCKABLE }
}

/// Writes a set.
///
/// # Safety
/// A set of the program's.
pub unsafe fn set_bits(set: *mut libc::sigset_t, bits: u64) {
    // SAFETY: as the caller says.
    unsafe {
        libc::sigemptyset(set);
        *set.cast::<u64>() = bits;
    }
}

/// What the runner says by.
pub const RUNNERS: [c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGALRM];

/// What the program has asked to be done.
#[derive(Clone, Copy)]
pub enum Action {
    Default,
    Ignore,
    Handler(libc::sigaction),
}

pub fn action(signal: c_int) -> Action {
    match PROCESS.with(|process| process.actions[signal as usize]) {
        None => Action::Default,
        Some(a) if a.sa_sigaction == libc::SIG_DFL => Action::Default,
        Some(a) if a.sa_sigaction == libc::SIG_IGN => Action::Ignore,
        Some(a) => Action::Handler(a),
    }
}

/// What is done about the signal from now on.
pub fn put(signal: c_int, action: Option<libc::sigaction>) {
    PROCESS.with(|process| process.actions[signal as usize] = action);
    let expected = |signal: &c_int| !FAULTS.contains(signal) && !RUNNERS.contains(signal);
    let handled = (1..COUNT as c_int).filter(expected).any(|signal| matches!(self::action(signal), Action::Handler(_)));
    FROM_OUTSIDE.store(handled, Ordering::Relaxed);
}

/// What happens where the program has asked for nothing.
pub enum Default {
    Nothing,
    Stop,
    End,
}

pub fn default_of(signal: c_int) -> Default {
    match signal {
        libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT => Default::Nothing,
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Default::Stop,
        _ => Default::End,
    }
}

/// Does a signal that nobody blocks end the process?
pub fn ends(signal: c_int) -> bool {
    matches!(action(signal), Action::Default) && matches!(default_of(signal), Default::End)
}

/// Does a signal that nobody blocks come to nothing?
pub fn is_ignored(signal: c_int) -> bool {
    match action(signal) {
        Action::Ignore => true,
        Action::Default => matches!(default_of(signal), Default::Nothing),
        Action::Handler(_) => false,
    }
}

/// A handler runs that is to run only once.
pub fn reset(signal: c_int) {
    put(signal, None);
}
