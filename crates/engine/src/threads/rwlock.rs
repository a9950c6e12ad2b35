// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread reader-writer locks.
//!
//! The lock is in a read phase or in a write phase. A reader adds itself to the state word and has the lock in a
//! read phase; so readers move one line between all CPUs. Readers who wait are in the state already: a phase
//! ends for all of them. A writer first claims to be the writer, then waits for the write phase, which the last
//! reader to leave begins for it. The phase stays when a writer leaves and no reader waits, so that the next
//! writer finds it; a reader ends it. Words, phases, and what is looked at and changed in which order are
//! glibc's, as they decide how often the line moves.
//! `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` makes readers wait while any writer waits.
use crate::account::locks;
use crate::engine::now;
use crate::stand_in::calls;
use crate::threads::deadline::{self, Deadline};
use crate::threads::futex::Waited;
use crate::threads::object::{Object, Path, me};
use core::ffi::c_int;
use corefold_model::Ticks;
use corefold_recording::LockKind;

pub mod words;
mod writer;

use words::*;

const OWNER: u64 = 24;

const BYTES: u64 = 56;

/// The uncontended paths through the functions, in glibc 2.36.
const READ: Path = &[23];
const WRITE: Path = &[50];
const TRY: Path = &[20];
const UNLOCK_READ: Path = &[19, 6, 8, 5];
const UNLOCK_WRITE: Path = &[8, 27, 5];

calls! {
    fn pthread_rwlock_rdlock(lock: u64; call) -> c_int { read(Object::called(lock, call), Deadline::Never) }
    fn pthread_rwlock_wrlock(lock: u64; call) -> c_int { write(Object::called(lock, call), Deadline::Never) }
    fn pthread_rwlock_timedrdlock(lock: u64, until: *const libc::timespec; call) -> c_int {
        read(Object::called(lock, call), Deadline::At(libc::CLOCK_REALTIME, until))
    }
    fn pthread_rwlock_timedwrlock(lock: u64, until: *const libc::timespec; call) -> c_int {
        write(Object::called(lock, call), Deadline::At(libc::CLOCK_REALTIME, until))
    }
    fn pthread_rwlock_clockrdlock(lock: u64, clock: c_int, until: *const libc::timespec; call) -> c_int {
        match deadline::is_clock(clock) {
            true => read(Object::called(lock, call), Deadline::At(clock, until)),
            false => libc::EINVAL,
        }
    }
    fn pthread_rwlock_clockwrlock(lock: u64, clock: c_int, until: *const libc::timespec; call) -> c_int {
        match deadline::is_clock(clock) {
            true => write(Object::called(lock, call), Deadline::At(clock, until)),
            false => libc::EINVAL,
        }
    }
    fn pthread_rwlock_tryrdlock(lock: u64; call) -> c_int { try_read(Object::called(lock, call)) }
    fn pthread_rwlock_trywrlock(lock: u64; call) -> c_int { try_write(Object::called(lock, call)) }
    fn pthread_rwlock_unlock(lock: u64; call) -> c_int { unlock(Object::called(lock, call)) }
    fn pthread_rwlock_init(lock: u64, attr: *const libc::pthread_rwlockattr_t; call) -> c_int {
        init(Object::called(lock, call), attr)
    }
    fn pthread_rwlock_destroy(lock: u64; _call) -> c_int {
        locks::forgotten(lock);
        0
    }
}

fn init(lock: Object, attr: *const libc::pthread_rwlockattr_t) -> c_int {
    unsafe extern "C" {
        fn pthread_rwlockattr_getkind_np(attr: *const libc::pthread_rwlockattr_t, kind: *mut c_int) -> c_int;
    }
    lock.clear(BYTES);
    locks::forgotten(lock.address);
    let mut kind = 0;
    if !attr.is_null() {
        // SAFETY: an attribute object of the program's.
        unsafe { pthread_rwlockattr_getkind_np(attr, &mut kind) };
    }
    lock.poke(KIND, kind as u32);
    0
}

fn took(lock: Object, since: Option<Ticks>) -> c_int {
    lock.acquired(LockKind::RwLock, since);
    0
}

fn gave_up(lock: Object, since: Ticks) -> c_int {
    lock.gave_up(LockKind::RwLock, since);
    libc::ETIMEDOUT
}

pub fn read(lock: Object, until: Deadline) -> c_int {
    lock.goes(READ);
    if lock.read(OWNER) == me() {
        return libc::EDEADLK;
    }
    let deadline = match until.ticks() {
        Ok(deadline) => deadline,
        Err(code) => return code,
    };
    let begin = now();
    if prefers_writers(lock) && hold_off(lock, deadline).is_err() {
        return gave_up(lock, begin);
    }
    let state = lock.add(STATE, READER) + READER;
    let waits = state & WRITE_PHASE != 0 && !end_phase(lock, state);
    if waits && await_reading(lock, deadline).is_err() {
        return gave_up(lock, begin);
    }
    took(lock, waits.then_some(begin))
}

/// Where readers have the lock and a writer waits: waits until it had its turn.
fn hold_off(lock: Object, deadline: Option<Ticks>) -> Result<(), TimedOut> {
    let held = |state: u32| state & (WRITE_PHASE | CLAIMED) == CLAIMED && state >= READER;
    loop {
        let state = lock.load(STATE);
        if !held(state) {
            return Ok(());
        }
        if state & HELD_OFF == 0 {
            lock.update(STATE, |state| held(state).then_some(state | HELD_OFF));
        } else if lock.wait(STATE, state, deadline) == Waited::TimedOut {
            return Err(TimedOut);
        }
    }
}

/// A reader that is in `state` ends a write phase without a writer; false if another begins or ends one: its word to
/// wait on may not say so yet.
fn end_phase(lock: Object, state: u32) -> bool {
    let is_left = |state: u32| state & (WRITE_PHASE | CLAIMED) == WRITE_PHASE;
    let ends = is_left(state) && is_left(lock.update(STATE, |state| is_left(state).then_some(state & !WRITE_PHASE)));
    if ends {
        change_phase(lock, 0);
    }
    ends
}

/// Says on the word to wait on what the state says already, and wakes who waits for it.
fn change_phase(lock: Object, phase: u32) {
    if lock.update(PHASE, |_| Some(phase)) & WAITED_FOR != 0 {
        lock.wake(PHASE, u32::MAX);
    }
}

fn await_reading(lock: Object, deadline: Option<Ticks>) -> Result<(), TimedOut> {
    loop {
        let waited = await_phase_after(lock, 1, deadline);
        // As long as the write phase lasts, a reader can leave; then it has the lock.
        let leaves = |state: u32| (waited.is_err() && state & WRITE_PHASE != 0).then(|| state - READER);
        let state = if waited.is_err() { lock.update(STATE, leaves) } else { lock.load(STATE) };
        if state & WRITE_PHASE == 0 {
            await_word(lock, 0);
            return Ok(());
        }
        waited?;
        lock.pause();
    }
}

fn try_read(lock: Object) -> c_int {
    lock.goes(TRY);
    let mut state = lock.load(STATE);
    loop {
        if state & CLAIMED != 0 && (state & WRITE_PHASE != 0 || prefers_writers(lock)) {
            return libc::EBUSY;
        }
        let found = lock.update(STATE, |s| (s == state).then_some((s + READER) & !WRITE_PHASE));
        if found == state {
            break;
        }
        state = found;
    }
    if state & WRITE_PHASE != 0 {
        change_phase(lock, 0);
    }
    took(lock, None)
}

pub fn write(lock: Object, until: Deadline) -> c_int {
    lock.goes(WRITE);
    if lock.read(OWNER) == me() {
        return libc::EDEADLK;
    }
    let deadline = match until.ticks() {
        Ok(deadline) => deadline,
        Err(code) => return code,
    };
    let begin = now();
    let old = lock.update(STATE, |state| Some(state | CLAIMED));
    let mut waited = old & CLAIMED != 0;
    let claimed = if waited { writer::claim(lock, deadline) } else { Ok((old, 0)) };
    let Ok((state, shared)) = claimed else { return gave_up(lock, begin) };
    lock.store(CLAIM, 1 | shared);
    if state & WRITE_PHASE == 0 && !writer::begin_phase(lock) {
        waited = true;
        if writer::await_phase(lock, deadline).is_err() {
            return gave_up(lock, begin);
        }
    }
    lock.write(OWNER, me());
    took(lock, waited.then_some(begin))
}

fn try_write(lock: Object) -> c_int {
    lock.goes(TRY);
    let free = |state: u32| state & CLAIMED == 0 && (state & WRITE_PHASE != 0 || state < READER);
    if !free(lock.load(STATE)) {
        return libc::EBUSY;
    }
    let old = lock.update(STATE, |s| free(s).then_some(s | CLAIMED | WRITE_PHASE));
    if !free(old) {
        return libc::EBUSY;
    }
    lock.store(CLAIM, 1);
    if old & WRITE_PHASE == 0 {
        lock.store(PHASE, 1);
    }
    lock.write(OWNER, me());
    took(lock, None)
}

pub fn unlock(lock: Object) -> c_int {
    if lock.read(OWNER) == me() {
        lock.goes(UNLOCK_WRITE);
        lock.write(OWNER, 0);
        release_write(lock);
    } else {
        lock.goes(UNLOCK_READ);
        release_read(lock);
    }
    0
}

/// The last reader leaves the lock to a writer that waits.
fn release_read(lock: Object) {
    let left = |state: u32| match state - READER {
        left if left >= READER => left,
        left if left & CLAIMED != 0 => (left | WRITE_PHASE) & !HELD_OFF,
        left => left & !HELD_OFF,
    };
    // A loop that tries again if another thread changes the word between its load and its update, as glibc's does.
    let mut old = lock.load(STATE);
    loop {
        let found = lock.update(STATE, |state| (state == old).then(|| left(state)));
        if found == old {
            break;
        }
        old = found;
    }
    locks::released(lock.address);
    if left(old) & WRITE_PHASE != 0 {
        change_phase(lock, 1);
    }
    if (old ^ left(old)) & HELD_OFF != 0 {
        lock.wake(STATE, u32::MAX);
    }
}

/// A writer leaves the lock to another if it comes first, else to the readers that wait, else to whoever comes.
fn release_write(lock: Object) {
    let others = lock.update(CLAIM, |_| Some(0)) & WAITED_FOR != 0;
    let hands_over = prefers_writers(lock)
        && lock.load(WRITERS) != 0
        && lock.update(WRITERS, |writers| (writers != 0).then_some(writers | HANDED_OVER)) != 0;
    let mut readers = false;
    if !hands_over {
        lock.load(STATE);
        let left = |state: u32| if state >= READER { state & !(CLAIMED | WRITE_PHASE) } else { state & !CLAIMED };
        readers = lock.update(STATE, |state| Some(left(state))) >= READER;
    }
    locks::released(lock.address);
    if readers {
        change_phase(lock, 0);
    }
    if others {
        lock.wake(CLAIM, 1);
    }
}
