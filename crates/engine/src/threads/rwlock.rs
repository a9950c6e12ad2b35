// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread reader-writer locks.
//!
//! A reader adds itself to the state word and has the lock unless a writer does; so readers move one line
//! between all CPUs, as they do with glibc. Readers who wait are in the state already: the writer's
//! release hands the lock to all of them. The last reader to leave hands it to a waiting writer.
//! `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` makes readers wait while any writer waits.
use crate::account::locks;
use crate::calls::deadline::{self, Deadline};
use crate::engine::now;
use crate::stand_in::calls;
use crate::threads::futex::Waited;
use crate::threads::object::{Object, me};
use core::ffi::c_int;
use corefold_model::Ticks;
use corefold_recording::LockKind;

/// [`WRITER`], [`HANDED_OVER`], and [`READER`] for each reader that has the lock or waits for its writer.
const STATE: u64 = 0;
/// Writers that wait.
const WRITERS: u64 = 4;
/// 1 while readers have to wait; they wait on this word.
const CLOSED: u64 = 8;
/// Changes when a writer may go on; writers wait on this word.
const TURN: u64 = 12;
/// Readers that wait without being in the state, as writers come first.
const REFUSED: u64 = 16;
const OWNER: u64 = 24;
/// The kind: where glibc's static initialisers have it.
const KIND: u64 = 48;
const BYTES: u64 = 56;

const WRITER: u32 = 1;
/// The last reader has made a waiting writer the owner.
const HANDED_OVER: u32 = 2;
const READER: u32 = 8;
const PREFER_WRITER: u32 = 2;

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

fn prefers_writers(lock: Object) -> bool {
    lock.read(KIND) == PREFER_WRITER
}

fn took(lock: Object, since: Option<Ticks>) -> c_int {
    lock.acquired(LockKind::RwLock, since);
    0
}

fn read(lock: Object, until: Deadline) -> c_int {
    if lock.read(OWNER) == me() {
        return libc::EDEADLK;
    }
    let deadline = match until.ticks() {
        Ok(deadline) => deadline,
        Err(code) => return code,
    };
    let begin = now();
    let entered = if prefers_writers(lock) { enter_after_writers(lock, deadline) } else { enter(lock, deadline) };
    match entered {
        Some(waited) => took(lock, waited.then_some(begin)),
        None => libc::ETIMEDOUT,
    }
}

/// Adds a reader; whether it had to wait, or `None` if it gave up.
fn enter(lock: Object, deadline: Option<Ticks>) -> Option<bool> {
    if lock.add(STATE, READER) & WRITER == 0 {
        return Some(false);
    }
    while lock.load(STATE) & WRITER != 0 {
        if lock.wait(CLOSED, 1, deadline) == Waited::TimedOut {
            // The writer may have let this reader in just now.
            let old = lock.update(STATE, |state| (state & WRITER != 0).then(|| state - READER));
            return (old & WRITER == 0).then_some(true);
        }
    }
    Some(true)
}

/// The same where readers wait until there is no writer left.
fn enter_after_writers(lock: Object, deadline: Option<Ticks>) -> Option<bool> {
    let try_enter = || {
        let mut entered = false;
        lock.update(STATE, |state| {
            entered = lock.peek(CLOSED) == 0;
            entered.then(|| state + READER)
        });
        entered
    };
    if try_enter() {
        return Some(false);
    }
    lock.add(REFUSED, 1);
    let mut result = Some(true);
    while !try_enter() {
        if lock.wait(CLOSED, 1, deadline) == Waited::TimedOut {
            result = None;
            break;
        }
    }
    lock.add(REFUSED, u32::MAX);
    result
}

fn try_read(lock: Object) -> c_int {
    let refuses = if prefers_writers(lock) { lock.read(CLOSED) != 0 } else { false };
    let state = if refuses { WRITER } else { lock.load(STATE) };
    if state & WRITER != 0 || lock.update(STATE, |s| (s & WRITER == 0).then(|| s + READER)) & WRITER != 0 {
        return libc::EBUSY;
    }
    took(lock, None)
}

fn write(lock: Object, until: Deadline) -> c_int {
    if lock.read(OWNER) == me() {
        return libc::EDEADLK;
    }
    let deadline = match until.ticks() {
        Ok(deadline) => deadline,
        Err(code) => return code,
    };
    let begin = now();
    let free = take(lock, 0);
    if !free && !wait_to_write(lock, deadline) {
        return libc::ETIMEDOUT;
    }
    lock.write(OWNER, me());
    took(lock, (!free).then_some(begin))
}

/// Makes the running thread the writer if nobody has the lock, or if it was handed over to `waiting`
/// (1 or 0) writers that wait, of whom it is one.
fn take(lock: Object, waiting: u32) -> bool {
    let mut taken = false;
    lock.update(STATE, |state| {
        let handed_over = waiting > 0 && state & HANDED_OVER != 0;
        let free = state & WRITER == 0 && state < READER;
        taken = free || handed_over;
        if taken {
            lock.poke(CLOSED, 1);
            lock.poke(WRITERS, lock.peek(WRITERS) - waiting);
        }
        taken.then_some((state | WRITER) & !HANDED_OVER)
    });
    taken
}

/// Waits until the lock is the running thread's; false if it gave up.
fn wait_to_write(lock: Object, deadline: Option<Ticks>) -> bool {
    let closes = prefers_writers(lock);
    lock.update(WRITERS, |writers| {
        if closes {
            lock.poke(CLOSED, 1);
        }
        Some(writers + 1)
    });
    loop {
        let turn = lock.load(TURN);
        if take(lock, 1) {
            return true;
        }
        if lock.wait(TURN, turn, deadline) == Waited::TimedOut {
            break;
        }
    }
    let taken = take(lock, 1);
    if !taken {
        leave_off(lock);
    }
    taken
}

/// A writer waits no more. Readers that wait for it only may go on.
fn leave_off(lock: Object) {
    let mut opened = false;
    lock.update(WRITERS, |writers| {
        opened = writers == 1 && lock.peek(STATE) & WRITER == 0 && lock.peek(CLOSED) != 0;
        if opened {
            lock.poke(CLOSED, 0);
        }
        Some(writers - 1)
    });
    if opened {
        lock.wake(CLOSED, u32::MAX);
    }
}

fn try_write(lock: Object) -> c_int {
    if !take(lock, 0) {
        return libc::EBUSY;
    }
    lock.write(OWNER, me());
    took(lock, None)
}

fn unlock(lock: Object) -> c_int {
    if lock.read(OWNER) == me() {
        lock.write(OWNER, 0);
        release_write(lock);
    } else {
        release_read(lock);
    }
    0
}

fn release_read(lock: Object) {
    let mut handed_over = false;
    lock.update(STATE, |state| {
        let left = state - READER;
        handed_over = left < READER && left & WRITER == 0 && lock.peek(WRITERS) > 0;
        if handed_over {
            lock.poke(CLOSED, 1);
        }
        Some(if handed_over { left | WRITER | HANDED_OVER } else { left })
    });
    locks::released(lock.address);
    if handed_over {
        wake_writer(lock);
    }
}

fn release_write(lock: Object) {
    let closes = prefers_writers(lock);
    let mut readers = false;
    let mut writer = false;
    lock.update(STATE, |state| {
        let waiting = lock.peek(WRITERS) > 0;
        if closes && waiting {
            writer = true;
            return Some(state | HANDED_OVER);
        }
        lock.poke(CLOSED, 0);
        readers = state >= READER || lock.peek(REFUSED) > 0;
        writer = waiting && state < READER;
        Some(state & !WRITER)
    });
    locks::released(lock.address);
    if readers {
        lock.wake(CLOSED, u32::MAX);
    }
    if writer {
        wake_writer(lock);
    }
}

fn wake_writer(lock: Object) {
    lock.add(TURN, 1);
    lock.wake(TURN, 1);
}
