// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mutexes that change their owner's priority (`PTHREAD_PRIO_INHERIT`, `PTHREAD_PRIO_PROTECT`): priorities
//! have no effect here, so these are locked like any other; the ceiling is kept.
use crate::stand_in::calls;
use crate::threads::deadline::Deadline;
use crate::threads::mutex;
use crate::threads::mutex_kind::{CEILING, KIND, Kind};
use crate::threads::object::Object;
use core::ffi::c_int;

const CEILINGS: core::ops::RangeInclusive<c_int> = 1..=99;

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
