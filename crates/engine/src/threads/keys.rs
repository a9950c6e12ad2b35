// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thread-specific data, and the destructors that run when a thread ends: in the simulation, because
//! the program's destructors are instrumented too.
use crate::carrier::Carrier;
use crate::code::loaded;
use crate::engine::{active, charge};
use crate::real::real;
use crate::scheduling::fiber::{FIBERS, current};
use crate::state::pthread::AtExit;
pub use crate::state::pthread::Destructor;
use crate::state::scheduler::running_fiber;
use crate::threads::object::{Path, goes};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// For each key that was made: its destructor; `None` once deleted.
static KEYS: Carrier<Vec<Option<Option<Destructor>>>> = Carrier::new(Vec::new());

/// The destructor of a key that is there.
fn destructor_of(key: usize) -> Option<Option<Destructor>> {
    KEYS.with(|keys| keys.get(key).copied().flatten())
}

/// Instructions of glibc 2.36 on the path of a key that has a value; the jump through the procedure linkage table comes before.
const GET: Path = &[17];
const SET: Path = &[33];

fn called(path: Path) {
    charge(1);
    goes(path);
}

const MOST_KEYS: usize = 1024;
const ROUNDS: usize = 4;

#[unsafe(no_mangle)]
pub extern "C" fn pthread_key_create(key: *mut u32, destructor: Option<Destructor>) -> c_int {
    if !active() {
        return create_native(key, destructor);
    }
    let free = KEYS.with(|keys| {
        let free = keys.iter().position(|k| k.is_none()).unwrap_or(keys.len());
        if free == MOST_KEYS {
            return None;
        }
        if free == keys.len() {
            keys.push(None);
        }
        keys[free] = Some(destructor);
        Some(free)
    });
    let Some(free) = free else { return libc::EAGAIN };
    // SAFETY: the caller's variable. Keys of ours are told from libc's by their high number.
    unsafe { *key = OURS | free as u32 };
    0
}

/// Keys made while nothing was simulated stay libc's: allocators that are libraries make them before the run begins.
const OURS: u32 = 1 << 20;

/// libc would run their destructors where a kernel thread ends, outside of the simulation.
static NATIVE: [AtomicUsize; MOST_KEYS] = [const { AtomicUsize::new(0) }; MOST_KEYS];

fn create_native(key: *mut u32, destructor: Option<Destructor>) -> c_int {
    real! { fn pthread_key_create(key: *mut u32, destructor: Option<Destructor>) -> c_int; }
    let code = pthread_key_create(key, destructor);
    if code == 0 {
        // SAFETY: the caller's variable, which libc has set to a number below its own limit.
        let slot = NATIVE.get(unsafe { *key } as usize);
        slot.into_iter().for_each(|slot| slot.store(destructor.map_or(0, |d| d as usize), Ordering::Relaxed));
    }
    code
}

fn run_native_destructors() -> bool {
    let mut ran = false;
    for (key, slot) in (0..).zip(&NATIVE) {
        // SAFETY: only destructors are stored, and zero.
        let destructor = unsafe { core::mem::transmute::<usize, Option<Destructor>>(slot.load(Ordering::Relaxed)) };
        let value = if destructor.is_some() { pthread_getspecific(key) } else { core::ptr::null_mut() };
        if let (Some(destructor), false) = (destructor, value.is_null()) {
            pthread_setspecific(key, core::ptr::null());
            destructor(value);
            ran = true;
        }
    }
    ran
}

#[unsafe(no_mangle)]
pub extern "C" fn pthread_key_delete(key: u32) -> c_int {
    if key & OURS == 0 {
        real! { fn pthread_key_delete(key: u32) -> c_int; }
        NATIVE.get(key as usize).into_iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
        return pthread_key_delete(key);
    }
    let key = (key ^ OURS) as usize;
    if KEYS.with(|keys| keys.get_mut(key).and_then(Option::take)).is_none() {
        return libc::EINVAL;
    }
    for fiber in FIBERS.iter() {
        fiber.thread.keys.with(|values| values.get_mut(key).into_iter().for_each(|value| *value = 0));
    }
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn pthread_setspecific(key: u32, value: *const c_void) -> c_int {
    if key & OURS == 0 {
        real! { fn pthread_setspecific(key: u32, value: *const c_void) -> c_int; }
        return pthread_setspecific(key, value);
    }
    if active() {
        called(SET);
    }
    let key = (key ^ OURS) as usize;
    if destructor_of(key).is_none() {
        return libc::EINVAL;
    }
    current().thread.keys.with(|values| {
        if values.len() <= key {
            values.resize(key + 1, 0);
        }
        values[key] = value as usize;
    });
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn pthread_getspecific(key: u32) -> *mut c_void {
    if key & OURS == 0 {
        real! { fn pthread_getspecific(key: u32) -> *mut c_void; }
        return pthread_getspecific(key);
    }
    if active() {
        called(GET);
    }
    let key = (key ^ OURS) as usize;
    if destructor_of(key).is_none() {
        return core::ptr::null_mut();
    }
    current().thread.keys.with(|values| values.get(key).copied().unwrap_or(0)) as *mut c_void
}

/// libstdc++ registers the destructors of thread_local objects here.
#[unsafe(no_mangle)]
pub extern "C" fn __cxa_thread_atexit_impl(function: Destructor, object: *mut c_void, module: *mut c_void) -> c_int {
    // The main thread's run when the process exits, which is libc's business.
    if !active() || running_fiber() == 0 {
        real! {
            fn __cxa_thread_atexit_impl(function: Destructor, object: *mut c_void, module: *mut c_void) -> c_int;
        }
        return __cxa_thread_atexit_impl(function, object, module);
    }
    let library = loaded::keep(function as *const c_void) as usize;
    current().thread.at_exit.with(|at_exit| at_exit.push(AtExit { function, object: object as usize, library }));
    0
}

/// Runs what the running thread has registered for its end: C++ objects, newest first, then keys.
pub fn run_destructors() {
    while let Some(AtExit { function, object, library }) = current().thread.at_exit.with(Vec::pop) {
        function(object as *mut c_void);
        loaded::let_go(library as *mut c_void);
    }
    for _ in 0..ROUNDS {
        if !(run_key_destructors() | run_native_destructors()) {
            return;
        }
    }
}

fn run_key_destructors() -> bool {
    let mut ran = false;
    for key in 0..current().thread.keys.with(|keys| keys.len()) {
        let value = current().thread.keys.with(|values| core::mem::take(&mut values[key]));
        if let (true, Some(Some(destructor))) = (value != 0, destructor_of(key)) {
            destructor(value as *mut c_void);
            ran = true;
        }
    }
    ran
}
