// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread condition variables: the calls around [`corefold_sim::condvar`].
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
use corefold_sim::condvar::{self, Ended, Waiting, Words};

/// The path of a signal that nobody waits for, in glibc 2.36.
const SIGNAL: Path = &[11, 9];

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

impl Words for Object {
    fn load(self, word: u64) -> u32 {
        self.load(word)
    }

    fn update(self, word: u64, change: impl FnOnce(u32) -> Option<u32>) -> u32 {
        self.update(word, change)
    }

    fn read(self, word: u64) -> u32 {
        self.read(word)
    }

    fn peek(self, word: u64) -> u32 {
        self.peek(word)
    }

    fn poke(self, word: u64, value: u32) {
        self.poke(word, value);
    }

    fn clear(self, bytes: u64) {
        self.clear(bytes);
    }

    fn wait(self, word: u64, expected: u32, deadline: Option<Ticks>) -> bool {
        self.wait(word, expected, deadline) != Waited::TimedOut
    }

    fn wake(self, word: u64, most: u32) {
        self.wake(word, most);
    }
}

/// The running thread, in a wait.
struct Waiter {
    cond: Object,
    mutex: Object,
    begin: Ticks,
    /// What taking the mutex again came to.
    locked: c_int,
}

impl Waiting for Waiter {
    fn unlock(&mut self) -> bool {
        self.begin = now();
        locks::waits(self.cond.address, LockKind::CondVar, self.begin);
        mutex::unlock(self.mutex) == 0
    }

    fn is_cancelled(&self) -> bool {
        cancel::is_due()
    }

    fn is_awake(&mut self) {
        self.cond.acquired(LockKind::CondVar, Some(self.begin));
    }

    /// Reports name this second wait so.
    fn lock(&mut self) {
        let call = crate::entry::Call { name: "pthread_mutex_lock", pc: self.mutex.call.pc };
        self.locked = mutex::lock(Object { call, ..self.mutex }, Deadline::Never);
    }
}

fn own_clock(cond: Object) -> c_int {
    if condvar::is_monotonic(cond) { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

pub fn wait(cond: Object, mutex: u64, until: Deadline) -> c_int {
    let deadline = match until.ticks() {
        Ok(deadline) => deadline,
        Err(code) => return code,
    };
    let mutex = Object { address: mutex, call: cond.call };
    let mut waiter = Waiter { cond, mutex, begin: 0, locked: 0 };
    let ended = condvar::wait(cond, deadline, &mut waiter);
    if ended == Ended::NotHeld {
        return libc::EPERM;
    }
    locks::awake(cond.address, LockKind::CondVar);
    if ended == Ended::Cancelled {
        cancel::test();
    }
    match waiter.locked {
        0 if ended == Ended::TimedOut => libc::ETIMEDOUT,
        code => code,
    }
}

/// Signals to `most` of those that wait and have no signal yet.
pub fn signal(cond: Object, most: u32) -> c_int {
    cond.goes(SIGNAL);
    let given = |count| locks::woke(cond.address, LockKind::CondVar, now(), count, most > 1);
    if !condvar::signal(cond, most, given) {
        cond.is_done();
    }
    0
}

pub fn init(cond: Object, attr: *const libc::pthread_condattr_t) -> c_int {
    let mut clock = libc::CLOCK_REALTIME;
    if !attr.is_null() {
        // SAFETY: an attribute object of the program's.
        unsafe { libc::pthread_condattr_getclock(attr, &mut clock) };
    }
    condvar::init(cond, clock == libc::CLOCK_MONOTONIC);
    0
}

pub fn destroy(cond: Object) -> c_int {
    condvar::destroy(cond);
    0
}
