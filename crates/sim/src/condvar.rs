// SPDX-License-Identifier: MIT OR Apache-2.0
//! Condition variables over a futex: which words change, in which order, and who takes a signal.
//!
//! Waiters form two groups, as in glibc since 2.25: tickets below `START` are of closed groups, those from there to `SECOND`
//! of the first group, later ones of the second. Signals go to the first group until each of its waiters has one. The
//! signal after that closes it: all who wait in the second group become the first, and new waiters a new second, at the
//! index of the closed one. A waiter of the first group takes any of its signals; one of a closed group takes
//! none, as each has one there. So it is in glibc since 2.41, which mended its bug 25847.
//!
//! 1. Each signal ends one wait, of a thread that was blocked when it was given, however late that thread runs: the
//!    waiters of the first group were all blocked before its first signal. (`a_signal_is_not_for_those_who_come_later`)
//! 2. A ticket is taken before the mutex is given back: a signal by who has the mutex next is for it, or for an earlier one.
//! 3. A time-out or a cancellation ends a wait only while others of the group can take all of the group's signals. Otherwise
//!    a signal ends it; a thread that is cancelled is then still to be cancelled. In glibc the waiter leaves, and a new
//!    signal replaces its own, which may end the wait of one who was not blocked when that was given.
//!    (`who_leaves_takes_no_signal_from_another`)
//! 4. Where a group has signals to take, as many of its waiters are awake, or are about to be woken, or all are. A signal
//!    wakes one that waits on its group's word, in order of arrival: those of a closed group, who went to sleep earlier, come
//!    before those who have its index now. Who leaves may have been woken for a signal, and wakes another for it.
//! 5. Nobody goes to sleep in a closed group: as long as one of its waiters has not left, the word that they wait on holds
//!    more than it did whenever there was no signal to take.
use corefold_model::Ticks;

#[cfg(test)]
mod tests;

/// Tickets given out, `TICKET` each, and the second group's index (the low half of glibc's `__wseq`).
const TICKETS: u64 = 0;
/// The first group's first ticket (glibc's `__g1_start`).
const START: u64 = 8;
/// Waiters of each group that no signal has been given for yet (glibc's `__g_size`).
const UNSIGNALLED: u64 = 24;
/// The second group's first ticket (glibc has the first group's size and its lock here, `__g1_orig_size`).
const SECOND: u64 = 32;
/// Waiters that have not left yet, eight each, and flags.
const WAITERS: u64 = 36;
/// For each group, what its waiters wait on. For the first group it is `START` and `TICKET` for each signal that no waiter has
/// taken yet; for the second it is not more than `START`. (glibc's `__g_signals`)
const SIGNALS: u64 = 40;
const BYTES: u64 = 48;

const TICKET: u32 = 2;
/// The part of a ticket that is its group's index.
const INDEX: u32 = 1;

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
        let unsignalled = of(UNSIGNALLED, ticket);
        cond.poke(unsignalled, cond.peek(unsignalled).wrapping_add(1));
        Some(ticket.wrapping_add(TICKET))
    });
    cond.add(WAITERS, WAITER);
    let ended = if thread.unlock() {
        let ended = await_signal(cond, ticket, deadline, thread);
        thread.is_awake();
        ended
    } else {
        withdraw(cond, ticket, Ended::NotHeld)
    };
    leave(cond);
    if ended != Ended::NotHeld {
        thread.lock();
    }
    ended
}

fn await_signal<W: Words>(cond: W, ticket: u32, deadline: Option<Ticks>, thread: &impl Waiting) -> Ended {
    let signals = of(SIGNALS, ticket);
    while !thread.is_cancelled() {
        let seen = cond.load(signals);
        let start = cond.peek(START);
        if is_before(ticket, start) {
            return Ended::Signalled;
        }
        // Who takes none after all looks again: there may be as many as before.
        if is_before(start, seen) {
            if take_signal(cond, ticket) {
                return Ended::Signalled;
            }
        } else if !cond.wait(signals, seen, deadline) {
            return withdraw(cond, ticket, Ended::TimedOut);
        }
    }
    withdraw(cond, ticket, Ended::Cancelled)
}

/// The word for the group of this ticket.
fn of(word: u64, ticket: u32) -> u64 {
    word + 4 * u64::from(ticket & INDEX)
}

/// Of two tickets; they wrap around.
fn is_before(first: u32, second: u32) -> bool {
    (second.wrapping_sub(first) as i32) > 0
}

/// Takes a signal, if this ticket's group is the first one still and has any left.
fn take_signal<W: Words>(cond: W, ticket: u32) -> bool {
    let mut taken = false;
    cond.update(of(SIGNALS, ticket), |signals| {
        let start = cond.peek(START);
        taken = !is_before(ticket, start) && is_before(start, signals);
        taken.then(|| signals.wrapping_sub(TICKET))
    });
    taken
}

/// The running thread has a reason to wait no more, but may have a signal that nobody else can take; one that does not hold
/// the mutex passes that on to who waits now.
fn withdraw<W: Words>(cond: W, ticket: u32, reason: Ended) -> Ended {
    let mut signalled = false;
    let mut wakes = [(ticket, 0); 2];
    change(cond, || {
        let (start, signals) = (cond.peek(START), cond.peek(of(SIGNALS, ticket)));
        let closed = is_before(ticket, start);
        let unsignalled = cond.peek(of(UNSIGNALLED, ticket));
        signalled = closed || unsignalled == 0;
        if !signalled {
            cond.poke(of(UNSIGNALLED, ticket), unsignalled - 1);
            wakes[0].1 = u32::from(is_before(start, signals));
        } else if !closed {
            cond.poke(of(SIGNALS, ticket), signals.wrapping_sub(TICKET));
        }
        if signalled && reason == Ended::NotHeld {
            wakes = give(cond, 1);
        }
    });
    wake(cond, wakes);
    if signalled && reason != Ended::NotHeld { Ended::Signalled } else { reason }
}

/// A change of the groups: an update of the word that is their lock in glibc.
fn change<W: Words>(cond: W, change: impl FnOnce()) {
    cond.update(SECOND, |_| {
        change();
        Some(cond.peek(SECOND))
    });
}

/// Gives up to `most` signals; returns how many to each group, a ticket's of it.
fn give<W: Words>(cond: W, most: u32) -> [(u32, u32); 2] {
    let second = cond.peek(TICKETS);
    let first = second ^ INDEX;
    let older = give_to(cond, first, most);
    if older == most || cond.peek(of(UNSIGNALLED, second)) == 0 {
        return [(first, older), (second, 0)];
    }
    let start = cond.peek(SECOND);
    cond.poke(START, start);
    cond.poke(SECOND, second & !INDEX);
    cond.poke(TICKETS, first);
    cond.poke(of(SIGNALS, second), start);
    [(first, older), (second, give_to(cond, second, most - older))]
}

/// The same to those of the first group.
fn give_to<W: Words>(cond: W, first: u32, most: u32) -> u32 {
    let (unsignalled, signals) = (of(UNSIGNALLED, first), of(SIGNALS, first));
    let waiters = cond.peek(unsignalled);
    let new = waiters.min(most);
    cond.poke(unsignalled, waiters - new);
    cond.poke(signals, cond.peek(signals).wrapping_add(new.wrapping_mul(TICKET)));
    new
}

/// Wakes so many of each group, the older one first.
fn wake<W: Words>(cond: W, groups: [(u32, u32); 2]) {
    for (group, count) in groups.into_iter().filter(|(_, count)| *count > 0) {
        cond.wake(of(SIGNALS, group), count);
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
    let mut groups = [(0, 0); 2];
    change(cond, || groups = give(cond, most));
    let count = groups[0].1 + groups[1].1;
    if count > 0 {
        given(count);
        wake(cond, groups);
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
