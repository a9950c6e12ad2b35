// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals of each thread: what is said of one, and those that wait to be delivered.
use crate::carrier::Carrier;
use crate::process_id;
use alloc::collections::VecDeque;
use core::cell::Cell;
use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64};

/// `siginfo_t`, as Linux lays it out for signals that are sent.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Information {
    pub signal: c_int,
    pub error: c_int,
    pub code: c_int,
    padding: c_int,
    /// The sender's process; of a timer's signal, the timer.
    pub first: c_int,
    /// The sender's user; of a timer's signal, how often it fired before this was delivered.
    pub second: c_int,
    pub value: u64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Information>() == size_of::<libc::siginfo_t>());

impl Information {
    pub fn new(signal: c_int, code: c_int, first: c_int, second: c_int, value: u64) -> Self {
        Information { signal, error: 0, code, padding: 0, first, second, value, rest: [0; 12] }
    }

    /// Of a signal that the program sends itself.
    pub fn sent(signal: c_int, code: c_int, value: u64) -> Self {
        // SAFETY: no arguments.
        let user = unsafe { libc::getuid() } as c_int;
        Information::new(signal, code, process_id::OWN, user, value)
    }

    pub fn of(kernels: &libc::siginfo_t) -> Self {
        // SAFETY: both are plain data of one size.
        unsafe { *core::ptr::from_ref(kernels).cast() }
    }

    pub fn as_kernels(&mut self) -> *mut libc::siginfo_t {
        core::ptr::from_mut(self).cast()
    }
}

/// Whom a signal is sent to.
#[derive(Clone, Copy)]
pub enum Target {
    Thread(usize),
    Process,
}

/// A signal's bit in a set of signals.
pub fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Signals that wait, in order of arrival.
#[derive(Default)]
pub struct Queue {
    set: u64,
    waiting: VecDeque<Information>,
}

/// The first real-time signal: those are queued, others only noted once.
const REAL_TIME: c_int = 32;
/// Faults, which Linux delivers before all others.
const FIRST: u64 = 1 << 10 | 1 << 6 | 1 << 3 | 1 << 4 | 1 << 7 | 1 << 30;

impl Queue {
    pub const EMPTY: Queue = Queue { set: 0, waiting: VecDeque::new() };

    pub fn set(&self) -> u64 {
        self.set
    }

    /// False: the same signal waits already, and one is all that is noted. Each timer has one of its own.
    pub fn add(&mut self, information: Information) -> bool {
        let signal = information.signal;
        if signal < REAL_TIME && self.set & bit(signal) != 0 && information.code != libc::SI_TIMER {
            return false;
        }
        self.set |= bit(signal);
        self.waiting.push_back(information);
        true
    }

    /// The next signal of those in `of`: faults first, then by number, then by time.
    pub fn take(&mut self, of: u64) -> Option<Information> {
        let ready = self.set & of;
        let best = if ready & FIRST != 0 { ready & FIRST } else { ready };
        if best == 0 {
            return None;
        }
        let signal = best.trailing_zeros() as c_int + 1;
        let at = self.waiting.iter().position(|i| i.signal == signal)?;
        let information = self.waiting.remove(at)?;
        if !self.waiting.iter().any(|i| i.signal == signal) {
            self.set &= !bit(signal);
        }
        Some(information)
    }

    pub fn forget(&mut self, signal: c_int) {
        self.set &= !bit(signal);
        self.waiting.retain(|i| i.signal != signal);
    }
}

/// A thread's own part.
#[derive(Default)]
pub struct Own {
    pub mask: Cell<u64>,
    /// What the mask is to be again once a handler has run: a call has set another for its time.
    pub saved: Cell<Option<u64>>,
    pub pending: Carrier<Queue>,
    /// What it waits for by `sigwait` and its like.
    pub awaited: Cell<u64>,
    /// Its stack for handlers: where that begins, and its bytes.
    pub stack: Cell<Option<(u64, u64)>>,
    /// It has to check for pending signals and cancellation.
    pub due: Cell<bool>,
    /// It waits inside libc, with locks held: nothing interrupts it.
    pub deaf: Cell<bool>,
}

impl Own {
    /// Of a thread that a thread with these makes.
    pub fn inherited(mask: u64) -> Self {
        Own { mask: Cell::new(mask), ..Own::default() }
    }

    /// Is the address on its stack for handlers?
    pub fn has_stack_at(&self, address: u64) -> bool {
        self.stack.get().is_some_and(|(begin, bytes)| address.wrapping_sub(begin) < bytes)
    }

    /// It has to check, before it blocks and at its next basic block.
    pub fn is_due(&self) -> bool {
        self.due.get() && !self.deaf.get()
    }

    /// Does the thread take the signal, when it can choose?
    pub fn wants(&self, signal: c_int) -> bool {
        self.awaited.get() & bit(signal) != 0 || self.mask.get() & bit(signal) == 0
    }
}

/// Signals that came from other processes and are not sent on yet, a bit each.
pub static CAME: AtomicU64 = AtomicU64::new(0);

/// The program handles a signal that another process may send, and that does not end the run.
pub static FROM_OUTSIDE: AtomicBool = AtomicBool::new(false);
