// SPDX-License-Identifier: MIT OR Apache-2.0
//! pthread_cancel, and how a thread is to be cancelled: see [`crate::threads::cancel`].
use crate::engine::now;
use crate::scheduling::fiber::State;
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::sched;
use crate::stand_in::stand_ins;
use crate::state::scheduler::running_fiber;
use crate::threads::cancel::{at_once, test};
use crate::threads::signals::{pending, sending};
use crate::threads::unwind;
use core::ffi::c_int;

const ENABLE: c_int = 0;
const DISABLE: c_int = 1;
const DEFERRED: c_int = 0;
const ASYNCHRONOUS: c_int = 1;

fn cancel(target: usize) {
    let fiber = &FIBERS[target];
    fiber.cancel.requested.set(true);
    if fiber.cancel.is_at_once() {
        pending::set_due(target);
    }
    if fiber.state.get() == State::Blocked && fiber.cancel.ends(&fiber.wait.get()) && !pending::is_deaf(target) {
        sending::interrupt(target, now());
    }
}

/// Writes what was, if the caller wants it.
fn tell(into: *mut c_int, was: c_int) {
    // SAFETY: the caller's variable, or null.
    if let Some(into) = unsafe { into.as_mut() } {
        *into = was;
    }
}

/// Changes the type; returns what it was.
fn set_type(asynchronous: bool) -> bool {
    current().cancel.asynchronous.replace(asynchronous)
}

stand_ins! {
    fn pthread_cancel(thread: libc::pthread_t) -> c_int {
        sched::enter_kernel();
        let Some(target) = crate::scheduling::lookup::find(thread) else { return libc::ESRCH };
        if FIBERS[target].state.get() != State::Finished {
            cancel(target);
        }
        if target == running_fiber() {
            at_once();
        }
        0
    }

    fn pthread_setcancelstate(new: c_int, old: *mut c_int) -> c_int {
        if new != ENABLE && new != DISABLE {
            return libc::EINVAL;
        }
        let disabled = current().cancel.disabled.replace(new == DISABLE);
        tell(old, if disabled { DISABLE } else { ENABLE });
        at_once();
        0
    }

    fn pthread_setcanceltype(new: c_int, old: *mut c_int) -> c_int {
        if new != DEFERRED && new != ASYNCHRONOUS {
            return libc::EINVAL;
        }
        tell(old, if set_type(new == ASYNCHRONOUS) { ASYNCHRONOUS } else { DEFERRED });
        at_once();
        0
    }

    fn pthread_testcancel() -> () {
        test();
    }
}

/// As `__pthread_register_cancel`, and cancellation is deferred meanwhile. Word 10 holds what it was.
#[unsafe(no_mangle)]
pub extern "C" fn __pthread_register_cancel_defer(buffer: *mut usize) {
    if !crate::engine::active() {
        crate::real::real! { fn __pthread_register_cancel_defer(buffer: *mut usize) -> (); }
        return __pthread_register_cancel_defer(buffer);
    }
    unwind::__pthread_register_cancel(buffer);
    // SAFETY: `__pthread_unwind_buf_t` has four private words after the nine of its jump buffer.
    unsafe { *buffer.add(10) = usize::from(set_type(false)) };
}

#[unsafe(no_mangle)]
pub extern "C-unwind" fn __pthread_unregister_cancel_restore(buffer: *mut usize) {
    if !crate::engine::active() {
        crate::real::real! { fn __pthread_unregister_cancel_restore(buffer: *mut usize) -> (); }
        return __pthread_unregister_cancel_restore(buffer);
    }
    unwind::__pthread_unregister_cancel(buffer);
    // SAFETY: `__pthread_unwind_buf_t` has four private words after the nine of its jump buffer.
    set_type(unsafe { *buffer.add(10) } != 0);
    at_once();
}
