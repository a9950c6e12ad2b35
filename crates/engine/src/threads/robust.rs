// SPDX-License-Identifier: MIT OR Apache-2.0
//! Robust mutexes: when a thread ends that holds one, the next to take it is told so.
//!
//! The owner's field then says which of three states the mutex is in; the word that is locked is as for
//! any other mutex.
use crate::scheduling::fiber::current;
use crate::threads::mutex_kind::OWNER;
use crate::threads::object::{Object, me};
use core::ffi::c_int;

/// Added to the owner: it has been told and has not made the data consistent yet.
pub const INCONSISTENT: u32 = 1 << 31;
/// The owner has ended.
pub const ENDED: u32 = 0x4000_0000;
/// Let go while inconsistent: of no use any more.
const NOT_RECOVERABLE: u32 = 0x7fff_ffff;

/// The running thread has taken the mutex; what that came to. Notes the owner unless it is an error.
pub fn taken(mutex: Object) -> c_int {
    match mutex.read(OWNER) {
        NOT_RECOVERABLE => libc::ENOTRECOVERABLE,
        ENDED => {
            current().thread.robust.with(|robust| robust.push(mutex.address));
            mutex.write(OWNER, me() | INCONSISTENT);
            libc::EOWNERDEAD
        }
        _ => {
            current().thread.robust.with(|robust| robust.push(mutex.address));
            0
        }
    }
}

/// The running thread lets go of the mutex: what its owner's field is to hold then.
pub fn owner_after(mutex: Object) -> u32 {
    current().thread.robust.with(|robust| robust.retain(|held| *held != mutex.address));
    if mutex.peek(OWNER) & INCONSISTENT != 0 { NOT_RECOVERABLE } else { 0 }
}

pub fn make_consistent(mutex: Object) -> c_int {
    if mutex.read(OWNER) != me() | INCONSISTENT {
        return libc::EINVAL;
    }
    mutex.write(OWNER, me());
    0
}
