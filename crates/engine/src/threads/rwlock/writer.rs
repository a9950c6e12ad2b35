// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a writer comes by a reader-writer lock: first the claim, then the phase.
use crate::threads::futex::Waited;
use crate::threads::object::Object;
use crate::threads::rwlock::words::*;
use corefold_model::Ticks;

/// Waits to be the writer. Returns the state before, and [`WAITED_FOR`] if other writers may wait still.
pub fn claim(lock: Object, deadline: Option<Ticks>) -> Result<(u32, u32), TimedOut> {
    let counts = prefers_writers(lock);
    if counts {
        lock.add(WRITERS, 1);
    }
    let mut shared = 0;
    loop {
        if let Some(state) = try_claim(lock, counts) {
            return Ok((state, shared));
        }
        let found = lock.load(CLAIM);
        if found & !WAITED_FOR != 1 {
            lock.pause();
            continue;
        }
        let waits = found == 1 | WAITED_FOR || lock.update(CLAIM, |f| (f == 1).then_some(1 | WAITED_FOR)) == 1;
        if !waits {
            continue;
        }
        if lock.wait(CLAIM, 1 | WAITED_FOR, deadline) == Waited::TimedOut {
            return leave_off(lock, counts).map(|state| (state, WAITED_FOR));
        }
        shared = WAITED_FOR;
    }
}

/// The state before, if the running thread is the writer now.
fn try_claim(lock: Object, counts: bool) -> Option<u32> {
    let state = lock.load(STATE);
    if state & CLAIMED == 0 {
        let old = lock.update(STATE, |state| (state & CLAIMED == 0).then_some(state | CLAIMED));
        if old & CLAIMED == 0 && counts {
            lock.add(WRITERS, u32::MAX);
        }
        return (old & CLAIMED == 0).then_some(old);
    }
    let handed_over = counts && lock.load(WRITERS) & HANDED_OVER != 0;
    let take = |writers: u32| (writers & HANDED_OVER != 0).then(|| (writers & !HANDED_OVER) - 1);
    (handed_over && lock.update(WRITERS, take) & HANDED_OVER != 0).then_some(state)
}

/// A writer gives up to wait for the claim, unless it was handed over to it just now.
fn leave_off(lock: Object, counts: bool) -> Result<u32, TimedOut> {
    if !counts {
        return Err(TimedOut);
    }
    // The last one that waits takes what was left to whoever waits.
    let old = lock.update(WRITERS, |w| Some(if w == 1 | HANDED_OVER { 0 } else { w - 1 }));
    if old == 1 | HANDED_OVER { Ok(lock.load(STATE)) } else { Err(TimedOut) }
}

/// The writer begins the write phase if no reader is there.
pub fn begin_phase(lock: Object) -> bool {
    let free = |state: u32| state & WRITE_PHASE == 0 && state < READER;
    let state = lock.update(STATE, |state| free(state).then_some(state | WRITE_PHASE));
    if free(state) {
        lock.store(PHASE, 1);
    }
    free(state)
}

/// The writer waits for the last reader to begin its phase.
pub fn await_phase(lock: Object, deadline: Option<Ticks>) -> Result<(), TimedOut> {
    loop {
        let waited = await_phase_after(lock, 0, deadline);
        let state = if waited.is_err() { give_up_claim(lock) } else { lock.load(STATE) };
        if state & WRITE_PHASE != 0 {
            await_word(lock, 1);
            return Ok(());
        }
        waited?;
        lock.pause();
    }
}

/// The writer waits no more for its phase, unless it has just begun; another one and readers may go on.
fn give_up_claim(lock: Object) -> u32 {
    let mut claim = 0;
    let state = lock.update(STATE, |state| {
        if state & WRITE_PHASE != 0 {
            return None;
        }
        claim = lock.peek(CLAIM);
        lock.poke(CLAIM, 0);
        Some(state & !(CLAIMED | HELD_OFF))
    });
    if claim & WAITED_FOR != 0 {
        lock.wake(CLAIM, 1);
    }
    if state & (WRITE_PHASE | HELD_OFF) == HELD_OFF {
        lock.wake(STATE, u32::MAX);
    }
    state
}
