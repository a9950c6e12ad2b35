// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cancellation: a thread that is cancelled ends as by pthread_exit, at its next cancellation point or, if it
//! has asked for that, at once: at its next basic block, or out of what it waits in.
use crate::engine::now;
use crate::scheduling::fiber::State;
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::sched;
use crate::stand_in::stand_ins;
use crate::state::scheduler::running_fiber;
use crate::threads::unwind;
use core::ffi::c_int;

const CANCELED: usize = usize::MAX;
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;
const DEFERRED: c_int = 0;
const ASYNCHRONOUS: c_int = 1;

/// Has the running thread to end at the next cancellation point?
pub fn is_due() -> bool {
    current().cancel.is_due()
}

pub fn is_at_once() -> bool {
    current().cancel.is_at_once()
}

/// Does the running thread end at a cancellation point here?
#[inline]
pub fn ends_here() -> bool {
    is_due() && !crate::threads::signals::pending::is_deaf(current().id.get())
}

/// A cancellation point.
#[inline]
pub fn test() {
    if ends_here() {
        act();
    }
}

/// Ends the running thread, if it has asked for that to happen at any place.
pub fn at_once() {
    if is_at_once() {
        act();
    }
}

/// The running thread ends by itself.
pub fn thread_ends() {
    current().cancel.ending.set(true);
}

#[cold]
fn act() -> ! {
    unwind::exit(CANCELED)
}

fn cancel(target: usize) {
    let fiber = &FIBERS[target];
    fiber.cancel.requested.set(true);
    if fiber.cancel.is_at_once() {
        crate::threads::signals::pending::set_due(target);
    }
    if fiber.state.get() == State::Blocked
        && fiber.cancel.ends(&fiber.wait.get())
        && !crate::threads::signals::pending::is_deaf(target)
    {
        crate::threads::signals::sending::interrupt(target, now());
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
