// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cancellation: a thread that is cancelled ends as by pthread_exit, at its next cancellation point or, if it
//! has asked for that, at once: at its next basic block, or out of what it waits in.
use crate::scheduling::fiber::current;
use crate::threads::unwind;

const CANCELED: usize = usize::MAX;

/// Has the running thread to end at the next cancellation point?
pub fn is_due() -> bool {
    current().cancel.is_due()
}

pub fn is_at_once() -> bool {
    current().cancel.is_at_once()
}

/// Does the running thread end at a cancellation point here?
#[inline]
pub fn ends_here() -> bool {
    is_due() && !current().signals.deaf.get()
}

/// A cancellation point.
#[inline]
pub fn test() {
    if ends_here() {
        act();
    }
}

/// Ends the running thread, if it has asked for that to happen at any place.
pub fn at_once() {
    if is_at_once() {
        act();
    }
}

/// The running thread ends by itself.
pub fn thread_ends() {
    current().cancel.ending.set(true);
}

#[cold]
fn act() -> ! {
    unwind::exit(CANCELED)
}
