// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread blocks, what waits for it, and its stack for handlers.
use super::actions::{bit, bits, is_programs, set_bits};
use super::blocking::change;
use super::delivery::deliver;
use super::pending::{PROCESS, is_due};
use super::setting::{handler_of, simple};
use crate::code::is_own;
use crate::scheduling::fiber::current;
use crate::scheduling::sched;
use crate::stand_in::{failed, stand_ins_at};
use core::ffi::{c_int, c_void};

/// Changes the mask as `how` says; the call returns to `pc`. Errors are returned.
fn set(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t, pc: u64) -> c_int {
    sched::enter_kernel();
    let before = current().signals.mask.get();
    if !new.is_null() {
        // SAFETY: the caller's set.
        let named = unsafe { bits(new) };
        match how {
            libc::SIG_BLOCK => change(before | named),
            libc::SIG_UNBLOCK => change(before & !named),
            libc::SIG_SETMASK => change(named),
            _ => return libc::EINVAL,
        }
    }
    if !old.is_null() {
        // SAFETY: the caller's variable.
        unsafe { set_bits(old, before) };
    }
    if is_due() {
        deliver(pc);
    }
    0
}

/// Another mask for the time of a call: `ppoll` and its like.
pub struct Borrowed(bool);

impl Borrowed {
    /// # Safety
    /// A set of the program's, or null.
    pub unsafe fn new(mask: *const libc::sigset_t) -> Self {
        if mask.is_null() {
            return Borrowed(false);
        }
        current().signals.saved.set(Some(current().signals.mask.get()));
        // SAFETY: as the caller says.
        change(unsafe { bits(mask) });
        Borrowed(true)
    }

    /// The call is over: if no handler has run, the mask is as it was.
    pub fn give_back(self) {
        if self.0
            && let Some(mask) = current().signals.saved.take()
        {
            change(mask);
        }
    }
}

fn one(signal: c_int, how: c_int, pc: u64) -> c_int {
    if !is_programs(signal) {
        return failed(libc::EINVAL);
    }
    // SAFETY: a zeroed set is valid.
    unsafe {
        let mut named: libc::sigset_t = core::mem::zeroed();
        set_bits(&mut named, bit(signal));
        set(how, &named, core::ptr::null_mut(), pc)
    }
}

/// The old `sigset`: a disposition, or to hold the signal. Gives what was, in the same terms.
fn hold_or_handle(signal: c_int, disposition: usize, pc: u64) -> usize {
    const SIG_HOLD: usize = 2;
    let Some(handler) = handler_of(signal) else {
        failed(libc::EINVAL);
        return libc::SIG_ERR;
    };
    let was_held = current().signals.mask.get() & bit(signal) != 0;
    if disposition == SIG_HOLD {
        one(signal, libc::SIG_BLOCK, pc);
    } else {
        simple(signal, disposition, 0, pc);
        one(signal, libc::SIG_UNBLOCK, pc);
    }
    if was_held { SIG_HOLD } else { handler }
}

stand_ins_at! {
    "rcx" fn pthread_sigmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t; pc) -> c_int {
        if is_own(pc) { own(how, new, old) } else { set(how, new, old, pc) }
    }

    "rcx" fn sigprocmask(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t; pc) -> c_int {
        match set(how, new, old, pc) {
            0 => 0,
            error => failed(error),
        }
    }

    "rsi" fn sighold(signal: c_int; pc) -> c_int { one(signal, libc::SIG_BLOCK, pc) }

    "rsi" fn sigrelse(signal: c_int; pc) -> c_int { one(signal, libc::SIG_UNBLOCK, pc) }

    "rdx" fn sigset(signal: c_int, disposition: usize; pc) -> usize { hold_or_handle(signal, disposition, pc) }

    "rsi" fn sigpending(into: *mut libc::sigset_t; pc) -> c_int {
        let _ = pc;
        sched::enter_kernel();
        let mine = &current().signals;
        let waiting = mine.pending.with(|pending| pending.set()) | PROCESS.with(|process| process.pending.set());
        let waiting = waiting & mine.mask.get();
        // SAFETY: the caller's variable.
        unsafe { set_bits(into, waiting) };
        0
    }

    "rdx" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t; pc) -> c_int {
        if is_own(pc) {
            return own(new, old);
        }
        sched::enter_kernel();
        let here = core::hint::black_box(&pc) as *const u64 as u64;
        // SAFETY: the caller's variables.
        unsafe { exchange_stack(new.as_ref(), old.as_mut(), here) }
    }
}

fn exchange_stack(new: Option<&libc::stack_t>, old: Option<&mut libc::stack_t>, here: u64) -> c_int {
    let before = current().signals.stack.get();
    let on_it = before.is_some_and(|(begin, bytes)| (begin..begin + bytes).contains(&here));
    if let Some(new) = new {
        const LEAST: usize = libc::MINSIGSTKSZ;
        let off = new.ss_flags & libc::SS_DISABLE != 0;
        match () {
            () if on_it => return failed(libc::EPERM),
            () if !off && new.ss_flags & !libc::SS_ONSTACK != 0 => return failed(libc::EINVAL),
            () if !off && new.ss_size < LEAST => return failed(libc::ENOMEM),
            () => {}
        }
        current().signals.stack.set((!off).then_some((new.ss_sp as u64, new.ss_size as u64)));
    }
    if let Some(old) = old {
        let (begin, bytes) = before.unwrap_or_default();
        let ss_flags = match before {
            None => libc::SS_DISABLE,
            Some(_) if on_it => libc::SS_ONSTACK,
            Some(_) => 0,
        };
        *old = libc::stack_t { ss_sp: begin as *mut c_void, ss_flags, ss_size: bytes as usize };
    }
    0
}
