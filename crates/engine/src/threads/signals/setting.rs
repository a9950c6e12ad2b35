// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program says what is to be done about a signal.
use super::actions::put;
use super::actions::{UNBLOCKABLE, is_ignored, is_programs};
use super::outside;
use super::pending::PROCESS;
use crate::code::is_own;
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins, stand_ins_at};
use crate::state::signals::bit;
use core::ffi::c_int;

fn set_action(signal: c_int, new: &libc::sigaction, pc: u64) {
    put(signal, Some(*new));
    if is_ignored(signal) {
        PROCESS.with(|process| process.pending.forget(signal));
        FIBERS.iter().for_each(|f| f.signals.pending.with(|pending| pending.forget(signal)));
    }
    outside::follow(signal, new, pc);
}

/// What handles a signal now; none for what is no signal, or cannot be caught.
pub fn handler_of(signal: c_int) -> Option<usize> {
    let can_be_caught = is_programs(signal) && UNBLOCKABLE & bit(signal) == 0;
    can_be_caught
        .then(|| PROCESS.with(|process| process.actions[signal as usize]).map_or(libc::SIG_DFL, |a| a.sa_sigaction))
}

/// The action changes to `new`, if there is one; returns what it was.
fn exchange(signal: c_int, new: Option<&libc::sigaction>, pc: u64) -> Option<libc::sigaction> {
    if !is_programs(signal) || new.is_some() && UNBLOCKABLE & bit(signal) != 0 {
        return None;
    }
    sched::enter_kernel();
    // SAFETY: a zeroed action is the default.
    let before = PROCESS.with(|process| process.actions[signal as usize]).unwrap_or(unsafe { core::mem::zeroed() });
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
        PROCESS.with(|process| {
            if let Some(action) = &mut process.actions[signal as usize] {
                let others = action.sa_flags & !libc::SA_RESTART;
                action.sa_flags = if fails != 0 { others } else { others | libc::SA_RESTART };
            }
        });
        0
    }
}
