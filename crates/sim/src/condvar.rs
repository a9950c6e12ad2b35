// SPDX-License-Identifier: MIT OR Apache-2.0
//! Condition variables over a futex: which words change, in which order, and who takes a signal.
//!
//! A waiter takes a ticket and waits until there is a signal for it; a signal is for every ticket given
//! out before it. So who waits after the last signal takes none, which is what glibc has its two
//! groups for; the words that change, and how often, are as there. Of those that a signal is for, any may take it,
//! and any earlier one that is left.
//!
//! 1. Each signal ends one wait.
//! 2. A ticket is taken before the mutex is given back: a signal by who has the mutex next is for it.
//! 3. Who leaves without a signal, by a time-out or as it is cancelled, takes one from the others only where all of them
//!    have theirs.
use corefold_model::Ticks;

#[cfg(test)]
mod tests;

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

const WAITER: u32 = 8;
const MONOTONIC: u32 = 2;
/// Somebody waits in pthread_cond_destroy for the last waiter to leave.
const DESTROYED: u32 = 4;

/// The words of an object in the program's memory, by their offset in it, and the futexes on them.
pub trait Words: Copy {
    fn load(self, word: u64) -> u32;

    /// A read-modify-write; returns the old value. Nothing comes between what `change` looks at and what
    /// it changes, in other words of the object too.
    fn update(self, word: u64, change: impl FnOnce(u32) -> Option<u32>) -> u32;

    fn add(self, word: u64, by: u32) -> u32 {
        self.update(word, |old| Some(old.wrapping_add(by)))
    }

    /// A plain read.
    fn read(self, word: u64) -> u32;

    /// Reads or writes beside an access to the same line, at the same time.
    fn peek(self, word: u64) -> u32;
    fn poke(self, word: u64, value: u32);

    /// Zeroes the first `bytes`, as an initialisation does.
    fn clear(self, bytes: u64);

    /// Waits, while `word` holds `expected`, until woken or `deadline`. False: the deadline has come. It may end without a
    /// reason.
    fn wait(self, word: u64, expected: u32, deadline: Option<Ticks>) -> bool;

    /// Wakes up to `most` that wait for `word`.
    fn wake(self, word: u64, most: u32);
}

/// A thread that waits.
pub trait Waiting {
    /// Gives the mutex back; false: it does not hold it.
    fn unlock(&mut self) -> bool;

    /// Is it to be cancelled?
    fn is_cancelled(&self) -> bool;

    /// It waits no more, however that came.
    fn is_awake(&mut self);

    /// Takes the mutex again.
    fn lock(&mut self);
}

/// How a wait ended. But for the first, the thread has its mutex again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    NotHeld,
    Signalled,
    TimedOut,
    Cancelled,
}

pub fn init<W: Words>(cond: W, monotonic: bool) {
    cond.clear(BYTES);
    cond.poke(WAITERS, if monotonic { MONOTONIC } else { 0 });
}

/// Are its time-outs by the monotonic clock?
pub fn is_monotonic<W: Words>(cond: W) -> bool {
    cond.read(WAITERS) & MONOTONIC != 0
}

pub fn wait<W: Words>(cond: W, deadline: Option<Ticks>, thread: &mut impl Waiting) -> Ended {
    let ticket = cond.update(TICKETS, |ticket| {
        cond.poke(UNSIGNALLED, cond.peek(UNSIGNALLED).wrapping_add(1));
        Some(ticket.wrapping_add(1))
    });
    cond.add(WAITERS, WAITER);
    let mut ended = Ended::NotHeld;
    if thread.unlock() {
        ended = await_signal(cond, ticket, deadline, thread);
        thread.is_awake();
    }
    if ended != Ended::Signalled {
        pass_on(cond);
    }
    leave(cond);
    if ended != Ended::NotHeld {
        thread.lock();
    }
    ended
}

fn await_signal<W: Words>(cond: W, ticket: u32, deadline: Option<Ticks>, thread: &impl Waiting) -> Ended {
    loop {
        if thread.is_cancelled() {
            return Ended::Cancelled;
        }
        let seen = cond.peek(SIGNALLED);
        if cond.load(SIGNALS) != 0 && take_signal(cond, ticket) {
            return Ended::Signalled;
        }
        if !cond.wait(SIGNALLED, seen, deadline) {
            return if take_signal(cond, ticket) { Ended::Signalled } else { Ended::TimedOut };
        }
    }
}

/// Takes a signal, if there is one for this ticket.
fn take_signal<W: Words>(cond: W, ticket: u32) -> bool {
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
fn pass_on<W: Words>(cond: W) {
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
fn call_all<W: Words>(cond: W, signals: u32) {
    if signals > 0 {
        cond.poke(CALLED, cond.peek(TICKETS));
        cond.poke(SIGNALLED, cond.peek(SIGNALLED).wrapping_add(1));
    }
}

fn leave<W: Words>(cond: W) {
    let old = cond.add(WAITERS, WAITER.wrapping_neg());
    if old & DESTROYED != 0 && old < 2 * WAITER {
        cond.wake(WAITERS, 1);
    }
}

/// Signals to `most` of those that wait and have no signal yet. `given` is told how many these are, if there are any, before
/// one of them runs. False: nobody waits.
pub fn signal<W: Words>(cond: W, most: u32, given: impl FnOnce(u32)) -> bool {
    if cond.load(WAITERS) < WAITER {
        return false;
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
        given(new);
        cond.wake(SIGNALLED, new);
    }
    true
}

/// Returns once all have left who were there: those who were signalled to may be on their way out, and the object must
/// outlive them.
pub fn destroy<W: Words>(cond: W) {
    loop {
        let waiters = cond.update(WAITERS, |old| (old >= WAITER).then_some(old | DESTROYED));
        if waiters < WAITER {
            return;
        }
        cond.wait(WAITERS, waiters | DESTROYED, None);
    }
}
