// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done about each signal.
use super::{outside, process};
use crate::code::is_own;
use crate::scheduling::fiber::fibers;
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins, stand_ins_at};
use core::ffi::c_int;

pub use crate::state::signals::bit;

pub const COUNT: usize = 65;

/// Faults, which the runtime looks at first: some are the program reading the processor's clock.
pub const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// Those that glibc keeps for itself, and those that cannot be blocked.
const KEPT: u64 = 0b11 << 31;
const UNBLOCKABLE: u64 = 1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1);

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

/// What the program has asked to be done.
#[derive(Clone, Copy)]
pub enum Action {
    Default,
    Ignore,
    Handler(libc::sigaction),
}

pub fn action(signal: c_int) -> Action {
    match process().actions[signal as usize] {
        None => Action::Default,
        Some(a) if a.sa_sigaction == libc::SIG_DFL => Action::Default,
        Some(a) if a.sa_sigaction == libc::SIG_IGN => Action::Ignore,
        Some(a) => Action::Handler(a),
    }
}

/// Does the program handle a signal that another process may send, and that does not end the run?
pub fn may_come_from_outside() -> bool {
    let expected = |signal: &c_int| !FAULTS.contains(signal) && !outside::RUNNERS.contains(signal);
    (1..COUNT as c_int).filter(expected).any(|signal| matches!(action(signal), Action::Handler(_)))
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

/// Does a signal that nobody blocks come to nothing?
pub fn is_ignored(signal: c_int) -> bool {
    match action(signal) {
        Action::Ignore => true,
        Action::Default => matches!(default_of(signal), Default::Nothing),
        Action::Handler(_) => false,
    }
}

fn set_action(signal: c_int, new: &libc::sigaction, pc: u64) {
    process().actions[signal as usize] = Some(*new);
    if is_ignored(signal) {
        process().pending.forget(signal);
        fibers().iter_mut().for_each(|f| f.signals.pending.forget(signal));
    }
    outside::follow(signal, new, pc);
}

/// What handles a signal now; none for what is no signal, or cannot be caught.
pub fn handler_of(signal: c_int) -> Option<usize> {
    let can_be_caught = is_programs(signal) && UNBLOCKABLE & bit(signal) == 0;
    can_be_caught.then(|| process().actions[signal as usize].map_or(libc::SIG_DFL, |a| a.sa_sigaction))
}

/// The action changes to `new`, if there is one; returns what it was.
fn exchange(signal: c_int, new: Option<&libc::sigaction>, pc: u64) -> Option<libc::sigaction> {
    if !is_programs(signal) || new.is_some() && UNBLOCKABLE & bit(signal) != 0 {
        return None;
    }
    sched::enter_kernel();
    // SAFETY: a zeroed action is the default.
    let before = process().actions[signal as usize].unwrap_or(unsafe { core::mem::zeroed() });
    if let Some(new) = new {
        set_action(signal, new, pc);
    }
    Some(before)
}

pub fn simple(signal: c_int, handler: usize, flags: c_int, pc: u64) -> usize {
    // SAFETY: a zeroed action is valid.
    let mut new: libc::sigaction = unsafe { core::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    match exchange(signal, Some(&new), pc) {
        Some(old) => old.sa_sigaction,
        None => {
            failed(libc::EINVAL);
            libc::SIG_ERR
        }
    }
}

stand_ins_at! {
    "rcx" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction; pc) -> c_int {
        if is_own(pc) {
            return own(signal, new, old);
        }
        // SAFETY: the caller's variables.
        unsafe {
            let Some(before) = exchange(signal, new.as_ref(), pc) else { return failed(libc::EINVAL) };
            if let Some(old) = old.as_mut() {
                *old = before;
            }
        }
        0
    }

    "rdx" fn signal(number: c_int, handler: usize; pc) -> usize { simple(number, handler, libc::SA_RESTART, pc) }

    "rdx" fn bsd_signal(number: c_int, handler: usize; pc) -> usize { simple(number, handler, libc::SA_RESTART, pc) }

    "rdx" fn __sysv_signal(number: c_int, handler: usize; pc) -> usize {
        simple(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER, pc)
    }

    "rsi" fn sigignore(number: c_int; pc) -> c_int {
        if simple(number, libc::SIG_IGN, 0, pc) == libc::SIG_ERR { -1 } else { 0 }
    }
}

stand_ins! {
    fn siginterrupt(signal: c_int, fails: c_int) -> c_int {
        if !is_programs(signal) {
            return failed(libc::EINVAL);
        }
        if let Some(action) = &mut process().actions[signal as usize] {
            let others = action.sa_flags & !libc::SA_RESTART;
            action.sa_flags = if fails != 0 { others } else { others | libc::SA_RESTART };
        }
        0
    }
}

/// A handler runs that is to run only once.
pub fn reset(signal: c_int) {
    process().actions[signal as usize] = None;
}
