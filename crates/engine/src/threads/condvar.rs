// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread condition variables.
//!
//! A waiter takes a ticket and waits until there is a signal for it; a signal is for every ticket given
//! out before it. So a later waiter cannot take an earlier one's signal, which is what glibc has its two
//! groups for; the words that change, and how often, are as there.
use crate::account::locks;
use crate::engine::now;
use crate::stand_in::calls;
use crate::threads::cancel;
use crate::threads::deadline::{self, Deadline};
use crate::threads::futex::Waited;
use crate::threads::mutex;
use crate::threads::object::{Object, Path};
use core::ffi::c_int;
use corefold_model::Ticks;
use corefold_recording::LockKind;

/// Tickets given out (the low half of glibc's `__wseq`).
const TICKETS: u64 = 0;
/// Tickets below this one have been signalled to (glibc's `__g1_start`).
const CALLED: u64 = 8;
/// Waiters that no signal has been given for yet (glibc's second `__g_size`).
const UNSIGNALLED: u64 = 28;
/// Waiters that have not left yet, eight each, and flags.
const WAITERS: u64 = 36;
/// Signals that no waiter has taken yet. With `UNSIGNALLED` it counts all who wait for one.
const SIGNALS: u64 = 40;
/// Changes with each signal; waiters wait on it. The number of signals would not do: it may have come back to what a
/// waiter saw.
const SIGNALLED: u64 = 44;
const BYTES: u64 = 48;

/// The path of a signal that nobody waits for, in glibc 2.36.
const SIGNAL: Path = &[11, 9];

const WAITER: u32 = 8;
const MONOTONIC: u32 = 2;
/// Somebody waits in pthread_cond_destroy for the last waiter to leave.
const DESTROYED: u32 = 4;

calls! {
    fn pthread_cond_wait(cond: u64, mutex: u64; call) -> c_int {
        wait(Object::called(cond, call), mutex, Deadline::Never)
    }
    fn pthread_cond_timedwait(cond: u64, mutex: u64, until: *const libc::timespec; call) -> c_int {
        let cond = Object::called(cond, call);
        wait(cond, mutex, Deadline::At(own_clock(cond), until))
    }
    fn pthread_cond_clockwait(cond: u64, mutex: u64, clock: c_int, until: *const libc::timespec; call) -> c_int {
        match deadline::is_clock(clock) {
            true => wait(Object::called(cond, call), mutex, Deadline::At(clock, until)),
            false => libc::EINVAL,
        }
    }
    fn pthread_cond_signal(cond: u64; call) -> c_int { signal(Object::called(cond, call), 1) }
    fn pthread_cond_broadcast(cond: u64; call) -> c_int { signal(Object::called(cond, call), u32::MAX) }
    fn pthread_cond_init(cond: u64, attr: *const libc::pthread_condattr_t; call) -> c_int {
        init(Object::called(cond, call), attr)
    }
    fn pthread_cond_destroy(cond: u64; call) -> c_int { destroy(Object::called(cond, call)) }
}

fn own_clock(cond: Object) -> c_int {
    if cond.read(WAITERS) & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

pub fn wait(cond: Object, mutex: u64, until: Deadline) -> c_int {
    let deadline = match until.ticks() {
        Ok(deadline) => deadline,
        Err(code) => return code,
    };
    let ticket = cond.update(TICKETS, |ticket| {
        cond.poke(UNSIGNALLED, cond.peek(UNSIGNALLED).wrapping_add(1));
        Some(ticket.wrapping_add(1))
    });
    cond.add(WAITERS, WAITER);
    let mutex = Object { address: mutex, call: cond.call };
    let begin = now();
    locks::waits(cond.address, LockKind::CondVar);
    let (mut code, mut cancelled) = (mutex::unlock(mutex), false);
    if code == 0 {
        (code, cancelled) = await_signal(cond, ticket, deadline);
        cond.acquired(LockKind::CondVar, Some(begin));
    }
    if code != 0 || cancelled {
        pass_on(cond);
    }
    leave(cond);
    if code == libc::EPERM {
        return code;
    }
    let code = lock_again(mutex, code);
    locks::awake(cond.address);
    if cancelled {
        cancel::test();
    }
    code
}

/// The name of this second wait in reports.
fn lock_again(mutex: Object, waited: c_int) -> c_int {
    let call = crate::entry::Call { name: "pthread_mutex_lock", pc: mutex.call.pc };
    match mutex::lock(Object { call, ..mutex }, Deadline::Never) {
        0 => waited,
        code => code,
    }
}

/// What the wait comes to, and whether the thread is to be cancelled: then a signal is for another.
fn await_signal(cond: Object, ticket: u32, deadline: Option<Ticks>) -> (c_int, bool) {
    loop {
        if cancel::is_due() {
            return (0, true);
        }
        let seen = cond.peek(SIGNALLED);
        if cond.load(SIGNALS) != 0 && take_signal(cond, ticket) {
            return (0, false);
        }
        if cond.wait(SIGNALLED, seen, deadline) == Waited::TimedOut {
            return (if take_signal(cond, ticket) { 0 } else { libc::ETIMEDOUT }, false);
        }
    }
}

/// Takes a signal, if there is one for this ticket.
fn take_signal(cond: Object, ticket: u32) -> bool {
    let mut taken = false;
    cond.update(SIGNALS, |signals| {
        let called = cond.peek(CALLED).wrapping_sub(ticket) as i32 > 0;
        taken = signals > 0 && called;
        taken.then(|| signals - 1)
    });
    taken
}

/// The running thread waits no more, and has taken no signal: one that was given for it is another's. That one
/// may have come later; it finds that it was woken for nothing.
fn pass_on(cond: Object) {
    let mut passed = 0;
    cond.update(SIGNALS, |signals| match cond.peek(UNSIGNALLED) {
        0 => Some(signals.saturating_sub(1)),
        unsignalled => {
            cond.poke(UNSIGNALLED, unsignalled - 1);
            passed = signals;
            call_all(cond, passed);
            None
        }
    });
    if passed > 0 {
        cond.wake(SIGNALLED, passed);
    }
}

/// So many signals are for all who wait now.
fn call_all(cond: Object, signals: u32) {
    if signals > 0 {
        cond.poke(CALLED, cond.peek(TICKETS));
        cond.poke(SIGNALLED, cond.peek(SIGNALLED).wrapping_add(1));
    }
}

fn leave(cond: Object) {
    let old = cond.add(WAITERS, WAITER.wrapping_neg());
    if old & DESTROYED != 0 && old < 2 * WAITER {
        cond.wake(WAITERS, 1);
    }
}

/// Signals to `most` of those that wait and have no signal yet.
pub fn signal(cond: Object, most: u32) -> c_int {
    cond.goes(SIGNAL);
    if cond.load(WAITERS) < WAITER {
        cond.is_done();
        return 0;
    }
    let mut new = 0;
    cond.update(SIGNALS, |signals| {
        let unsignalled = cond.peek(UNSIGNALLED);
        new = unsignalled.min(most);
        cond.poke(UNSIGNALLED, unsignalled - new);
        call_all(cond, new);
        (new > 0).then(|| signals + new)
    });
    if new > 0 {
        locks::woke(cond.address, LockKind::CondVar, new, most > 1);
        cond.wake(SIGNALLED, new);
    }
    0
}

pub fn init(cond: Object, attr: *const libc::pthread_condattr_t) -> c_int {
    cond.clear(BYTES);
    let mut clock = libc::CLOCK_REALTIME;
    if !attr.is_null() {
        // SAFETY: an attribute object of the program's.
        unsafe { libc::pthread_condattr_getclock(attr, &mut clock) };
    }
    cond.poke(WAITERS, if clock == libc::CLOCK_MONOTONIC { MONOTONIC } else { 0 });
    0
}

/// Those who were signalled to may still be on their way out: the object must outlive them.
pub fn destroy(cond: Object) -> c_int {
    loop {
        let waiters = cond.update(WAITERS, |old| (old >= WAITER).then_some(old | DESTROYED));
        if waiters < WAITER {
            return 0;
        }
        cond.wait(WAITERS, waiters | DESTROYED, None);
    }
}
