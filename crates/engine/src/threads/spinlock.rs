// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread spinlocks, as glibc has them on x86: 1 when free; taken by a locked decrement.
use crate::account::locks;
use crate::engine::now;
use crate::stand_in::calls;
use crate::threads::object::{Object, Path};
use core::ffi::c_int;
use corefold_recording::LockKind;

const WORD: u64 = 0;
const FREE: u32 = 1;

/// The uncontended paths through glibc's functions.
const LOCK: Path = &[4];
const UNLOCK: Path = &[3];

calls! {
    fn pthread_spin_init(lock: u64, _shared: c_int; call) -> c_int {
        locks::forgotten(lock);
        Object::called(lock, call).store(WORD, FREE);
        0
    }
    fn pthread_spin_destroy(lock: u64; _call) -> c_int {
        locks::forgotten(lock);
        0
    }
    fn pthread_spin_lock(lock: u64; call) -> c_int { take(Object::called(lock, call)) }
    fn pthread_spin_trylock(lock: u64; call) -> c_int {
        let lock = Object::called(lock, call);
        if lock.update(WORD, |old| (old == FREE).then_some(0)) != FREE {
            return libc::EBUSY;
        }
        lock.acquired(LockKind::Spinlock, None);
        0
    }
    fn pthread_spin_unlock(lock: u64; call) -> c_int {
        let object = Object::called(lock, call);
        object.goes(UNLOCK);
        // Held until others can see it: the store waits for its line, which those who wait have taken.
        let effect = object.store(WORD, FREE);
        locks::released_at(lock, effect);
        0
    }
}

fn take(lock: Object) -> c_int {
    lock.goes(LOCK);
    let begin = now();
    let mut waited = false;
    while lock.add(WORD, u32::MAX) as i32 != FREE as i32 {
        waited = true;
        loop {
            lock.pause_for_ever();
            crate::scheduling::outside::look_if_due(lock.call.pc);
            if lock.load(WORD) as i32 > 0 {
                break;
            }
        }
    }
    lock.acquired(LockKind::Spinlock, waited.then_some(begin));
    0
}
