// SPDX-License-Identifier: MIT OR Apache-2.0
//! POSIX semaphores, with glibc's layout: one 64-bit word, its low half the value, its high half the
//! number of waiters. Named ones lie in a file that libc maps, and are then like any other.
use crate::engine::now;
use crate::entry::Call;
use crate::hooks::atomics;
use crate::stand_in::{calls, failed};
use crate::threads::cancel;
use crate::threads::deadline::{self, Deadline};
use crate::threads::futex::Waited;
use crate::threads::object::{Object, Path};
use core::ffi::c_int;
use corefold_recording::LockKind;

const VALUE: u64 = 0;
const BYTES: u64 = 16;
const WAITER: u64 = 1 << 32;
const LARGEST: u32 = i32::MAX as u32;

calls! {
    fn sem_init(sem: u64, _shared: c_int, value: u32; call) -> c_int {
        if value > LARGEST {
            return failed(libc::EINVAL);
        }
        let sem = Object::called(sem, call);
        sem.clear(BYTES);
        sem.poke(VALUE, value);
        0
    }
    fn sem_destroy(_sem: u64; _call) -> c_int { 0 }
    fn sem_wait(sem: u64; call) -> c_int { wait(sem, call, Deadline::Never) }
    fn sem_timedwait(sem: u64, until: *const libc::timespec; call) -> c_int {
        wait(sem, call, Deadline::At(libc::CLOCK_REALTIME, until))
    }
    fn sem_clockwait(sem: u64, clock: c_int, until: *const libc::timespec; call) -> c_int {
        match deadline::is_clock(clock) {
            true => wait(sem, call, Deadline::At(clock, until)),
            false => failed(libc::EINVAL),
        }
    }
    fn sem_trywait(sem: u64; call) -> c_int {
        let sem = Object::called(sem, call);
        if !take(sem, 0) {
            return failed(libc::EAGAIN);
        }
        sem.acquired(LockKind::Semaphore, None);
        0
    }
    fn sem_post(sem: u64; call) -> c_int { post(Object::called(sem, call)) }
    fn sem_getvalue(sem: u64, value: *mut c_int; call) -> c_int {
        let found = Object::called(sem, call).load(VALUE);
        // SAFETY: the caller's variable.
        unsafe { *value = found as c_int };
        0
    }
}

/// The uncontended paths through glibc 2.36.
const WAIT: Path = &[3, 5, 9];
const POST: Path = &[9, 2];

/// Value and waiters in one read-modify-write; returns the old pair.
fn update(sem: Object, change: impl FnOnce(u64) -> Option<u64>) -> u64 {
    atomics::update(sem.address + VALUE, 8, sem.call.pc, change)
}

/// Takes one, and with it leaves off waiting (`waiter` is [`WAITER`] or 0), if there is one.
fn take(sem: Object, waiter: u64) -> bool {
    sem.load(VALUE) > 0 && update(sem, |old| (old as u32 > 0).then(|| old - 1 - waiter)) as u32 > 0
}

fn wait(sem: u64, call: Call, until: Deadline) -> c_int {
    cancel::test();
    let deadline = match until.ticks() {
        Ok(deadline) => deadline,
        Err(code) => return failed(code),
    };
    let sem = Object::called(sem, call);
    sem.goes(WAIT);
    let begin = now();
    if take(sem, 0) {
        sem.acquired(LockKind::Semaphore, None);
        return 0;
    }
    update(sem, |old| Some(old + WAITER));
    while !take(sem, WAITER) {
        let error = match sem.wait(VALUE, 0, deadline) {
            Waited::TimedOut => libc::ETIMEDOUT,
            // As on Linux: a wait with a deadline does not go on.
            Waited::Interrupted(restarts) if !restarts || deadline.is_some() || cancel::is_due() => libc::EINTR,
            _ => continue,
        };
        update(sem, |old| Some(old - WAITER));
        sem.gave_up(LockKind::Semaphore, begin);
        cancel::test();
        return failed(error);
    }
    sem.acquired(LockKind::Semaphore, Some(begin));
    0
}

fn post(sem: Object) -> c_int {
    sem.goes(POST);
    let old = update(sem, |old| (old as u32 != LARGEST).then(|| old + 1));
    if old as u32 == LARGEST {
        return failed(libc::EOVERFLOW);
    }
    if old >= WAITER {
        sem.wake(VALUE, 1);
    }
    0
}
