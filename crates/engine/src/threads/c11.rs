// SPDX-License-Identifier: MIT OR Apache-2.0
//! C11 threads: pthread's objects under other names and with other results. libc's own would call its
//! pthread functions past our stand-ins.
use crate::stand_in::{calls, stand_ins};
use crate::state::pthread::Start;
use crate::threads::condvar;
use crate::threads::deadline::Deadline;
use crate::threads::joining;
use crate::threads::keys;
use crate::threads::mutex;
use crate::threads::mutex_kind;
use crate::threads::object::Object;
use crate::threads::once;
use crate::threads::thread;
use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// A pthread function's result as C11 has it.
fn result(code: c_int) -> c_int {
    match code {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM | libc::EAGAIN => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

fn by_utc(until: *const libc::timespec) -> Deadline {
    Deadline::At(libc::CLOCK_REALTIME, until)
}

calls! {
    fn mtx_init(mutex: u64, kind: c_int; call) -> c_int {
        const RECURSIVE: c_int = 1;
        let kind = if kind & RECURSIVE != 0 { mutex_kind::Kind::RECURSIVE } else { 0 };
        mutex::init(Object::called(mutex, call), kind);
        SUCCESS
    }
    fn mtx_lock(mutex: u64; call) -> c_int { result(mutex::lock(Object::called(mutex, call), Deadline::Never)) }
    fn mtx_timedlock(mutex: u64, until: *const libc::timespec; call) -> c_int {
        result(mutex::lock(Object::called(mutex, call), by_utc(until)))
    }
    fn mtx_trylock(mutex: u64; call) -> c_int { result(mutex::try_lock(Object::called(mutex, call))) }
    fn mtx_unlock(mutex: u64; call) -> c_int { result(mutex::unlock(Object::called(mutex, call))) }
    fn mtx_destroy(mutex: u64; call) -> () { _ = mutex::destroy(Object::called(mutex, call)); }

    fn cnd_init(cond: u64; call) -> c_int { result(condvar::init(Object::called(cond, call), core::ptr::null())) }
    fn cnd_wait(cond: u64, mutex: u64; call) -> c_int {
        result(condvar::wait(Object::called(cond, call), mutex, Deadline::Never))
    }
    fn cnd_timedwait(cond: u64, mutex: u64, until: *const libc::timespec; call) -> c_int {
        result(condvar::wait(Object::called(cond, call), mutex, by_utc(until)))
    }
    fn cnd_signal(cond: u64; call) -> c_int { result(condvar::signal(Object::called(cond, call), 1)) }
    fn cnd_broadcast(cond: u64; call) -> c_int { result(condvar::signal(Object::called(cond, call), u32::MAX)) }
    fn cnd_destroy(cond: u64; call) -> () { _ = condvar::destroy(Object::called(cond, call)); }

    // `start` returns an int, in the register that a pointer is returned in: thrd_join takes its half.
    fn thrd_create(thread: *mut libc::pthread_t, start: Start, argument: *mut c_void; call) -> c_int {
        result(thread::begin(thread, core::ptr::null(), (start, argument), call.pc))
    }
    fn thrd_join(thread: libc::pthread_t, value: *mut c_int; call) -> c_int {
        let mut returned = core::ptr::null_mut();
        let code = joining::join(thread, &mut returned, Deadline::Never, call);
        if code == 0 && !value.is_null() {
            // SAFETY: the caller's variable.
            unsafe { *value = returned as c_int };
        }
        result(code)
    }
}

stand_ins! {
    fn thrd_detach(thread: libc::pthread_t) -> c_int {
        result(thread::pthread_detach(thread))
    }
    fn tss_create(key: *mut u32, destructor: Option<keys::Destructor>) -> c_int {
        result(keys::pthread_key_create(key, destructor))
    }
    fn tss_delete(key: u32) -> () {
        _ = keys::pthread_key_delete(key);
    }
    fn tss_set(key: u32, value: *const c_void) -> c_int {
        result(keys::pthread_setspecific(key, value))
    }
    fn tss_get(key: u32) -> *mut c_void {
        keys::pthread_getspecific(key)
    }
}

/// Simulated or not, `pthread_once` knows what to do.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn call_once(_flag: u64, _routine: extern "C" fn()) {
    naked_asm!("jmp {once}", once = sym once::pthread_once)
}

/// The same for `pthread_exit`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn thrd_exit(_value: c_int) -> ! {
    naked_asm!("movsxd rdi, edi", "jmp {exit}", exit = sym thread::pthread_exit)
}
