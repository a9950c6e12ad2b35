// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes that change their owner's priority (`PTHREAD_PRIO_INHERIT`, `PTHREAD_PRIO_PROTECT`): priorities
//! have no effect here, so these are locked like any other; the ceiling is kept.
use crate::calls::deadline::Deadline;
use crate::engine::note;
use crate::stand_in::calls;
use crate::threads::mutex::{self, KIND, Kind};
use crate::threads::object::Object;
use core::ffi::c_int;

/// The priority ceiling; glibc has it in the word that is locked.
const CEILING: u64 = 24;
const CEILINGS: core::ops::RangeInclusive<c_int> = 1..=99;

/// What the attributes ask for: the flag in the mutex's kind, and the ceiling.
pub fn asked(attr: *const libc::pthread_mutexattr_t, pc: u64) -> (u32, u32) {
    unsafe extern "C" {
        fn pthread_mutexattr_getprioceiling(attr: *const libc::pthread_mutexattr_t, value: *mut c_int) -> c_int;
    }
    let (mut protocol, mut ceiling) = (libc::PTHREAD_PRIO_NONE, 0);
    // SAFETY: an attribute object of the program's.
    unsafe {
        libc::pthread_mutexattr_getprotocol(attr, &mut protocol);
        pthread_mutexattr_getprioceiling(attr, &mut ceiling);
    }
    if protocol != libc::PTHREAD_PRIO_NONE {
        note("a mutex with a priority protocol is simulated as a plain one: priorities have no effect", pc);
    }
    match protocol {
        libc::PTHREAD_PRIO_INHERIT => (Kind::INHERIT, 0),
        libc::PTHREAD_PRIO_PROTECT => (Kind::PROTECT, ceiling as u32),
        _ => (0, 0),
    }
}

pub fn keep_ceiling(mutex: Object, ceiling: u32) {
    mutex.poke(CEILING, ceiling);
}

fn has_ceiling(mutex: Object) -> bool {
    mutex.read(KIND) & Kind::PROTECT != 0
}

calls! {
    fn pthread_mutex_getprioceiling(mutex: u64, into: *mut c_int; call) -> c_int {
        let mutex = Object::called(mutex, call);
        if !has_ceiling(mutex) {
            return libc::EINVAL;
        }
        // SAFETY: the caller's variable.
        unsafe { *into = mutex.read(CEILING) as c_int };
        0
    }
    fn pthread_mutex_setprioceiling(mutex: u64, ceiling: c_int, old: *mut c_int; call) -> c_int {
        let mutex = Object::called(mutex, call);
        if !has_ceiling(mutex) || !CEILINGS.contains(&ceiling) {
            return libc::EINVAL;
        }
        match mutex::lock(mutex, Deadline::Never) {
            0 => {}
            code => return code,
        }
        if !old.is_null() {
            // SAFETY: the caller's variable.
            unsafe { *old = mutex.read(CEILING) as c_int };
        }
        mutex.write(CEILING, ceiling as u32);
        mutex::unlock(mutex)
    }
}
