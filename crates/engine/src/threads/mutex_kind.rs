// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a mutex keeps what it is, and what its attributes ask for.
use crate::engine::note;
use crate::threads::object::Object;
use crate::threads::single;
use core::ffi::c_int;

pub const OWNER: u64 = 8;
pub const KIND: u64 = 16;
/// The priority ceiling; glibc has it in the word that is locked.
pub const CEILING: u64 = 24;

/// What glibc keeps in the `__kind` field.
#[derive(Clone, Copy)]
pub struct Kind(pub u32);

impl Kind {
    pub const RECURSIVE: u32 = 1;
    pub const ERROR_CHECKING: u32 = 2;
    pub const ADAPTIVE: u32 = 3;
    pub const ROBUST: u32 = 16;
    pub const INHERIT: u32 = 32;
    pub const PROTECT: u32 = 64;
    pub const PROCESS_SHARED: u32 = 128;

    pub fn of(mutex: Object) -> Kind {
        Kind(mutex.read(KIND))
    }
    pub fn is_recursive(self) -> bool {
        self.0 & 3 == Kind::RECURSIVE
    }
    pub fn is_error_checking(self) -> bool {
        self.0 & 3 == Kind::ERROR_CHECKING
    }
    pub fn is_adaptive(self) -> bool {
        self.0 & 3 == Kind::ADAPTIVE
    }
    pub fn is_robust(self) -> bool {
        self.0 & Kind::ROBUST != 0
    }
    /// While a process has had one thread only, glibc leaves out the locked operations of such a mutex.
    pub fn needs_no_atomics(self) -> bool {
        single::only_thread() && self.0 & (Kind::ROBUST | Kind::INHERIT | Kind::PROTECT | Kind::PROCESS_SHARED) == 0
    }
    /// Does an unlock check who does it?
    pub fn knows_owner(self) -> bool {
        self.is_recursive() || self.is_error_checking() || self.is_robust()
    }
}

/// The `__kind` that these attributes ask for, but for their protocol.
pub fn kind_of(attr: *const libc::pthread_mutexattr_t) -> u32 {
    unsafe extern "C" {
        fn pthread_mutexattr_gettype(attr: *const libc::pthread_mutexattr_t, value: *mut c_int) -> c_int;
    }
    let (mut kind, mut robust, mut shared) = (0, 0, 0);
    // SAFETY: an attribute object of the program's.
    unsafe {
        pthread_mutexattr_gettype(attr, &mut kind);
        libc::pthread_mutexattr_getrobust(attr, &mut robust);
        libc::pthread_mutexattr_getpshared(attr, &mut shared);
    }
    let robust = if robust == libc::PTHREAD_MUTEX_ROBUST { Kind::ROBUST } else { 0 };
    let shared = if shared == libc::PTHREAD_PROCESS_SHARED { Kind::PROCESS_SHARED } else { 0 };
    kind as u32 & 3 | robust | shared
}

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
