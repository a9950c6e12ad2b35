// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a thread's end: until it comes, not at all, or until a time.
use crate::engine::now;
use crate::entry::Call;
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::fiber::{State, Wait, Woken};
use crate::scheduling::lookup::find;
use crate::scheduling::{sched, timers};
use crate::stand_in::calls;
use crate::state::scheduler::running_fiber;
use crate::threads::cancel;
use crate::threads::deadline::{self, Deadline};
use crate::threads::thread::reap;
use core::ffi::{c_int, c_void};

calls! {
    fn pthread_join(thread: libc::pthread_t, value: *mut *mut c_void; call) -> c_int {
        join(thread, value, Deadline::Never, call)
    }
    fn pthread_tryjoin_np(thread: libc::pthread_t, value: *mut *mut c_void; call) -> c_int {
        match find(thread) {
            Some(target) if FIBERS[target].state.get() != State::Finished => {
                sched::enter_kernel();
                libc::EBUSY
            }
            _ => join(thread, value, Deadline::Never, call),
        }
    }
    fn pthread_timedjoin_np(
        thread: libc::pthread_t, value: *mut *mut c_void, until: *const libc::timespec; call
    ) -> c_int {
        join(thread, value, at(libc::CLOCK_REALTIME, until), call)
    }
    fn pthread_clockjoin_np(
        thread: libc::pthread_t, value: *mut *mut c_void, clock: c_int, until: *const libc::timespec; call
    ) -> c_int {
        if !deadline::is_clock(clock) {
            return libc::EINVAL;
        }
        join(thread, value, at(clock, until), call)
    }
}

/// glibc's: no time means for ever.
fn at(clock: c_int, until: *const libc::timespec) -> Deadline {
    if until.is_null() { Deadline::Never } else { Deadline::At(clock, until) }
}

pub fn join(thread: libc::pthread_t, value: *mut *mut c_void, until: Deadline, call: Call) -> c_int {
    cancel::test();
    let Some(target) = find(thread) else { return libc::ESRCH };
    if let Err(code) = may_join(target) {
        return code;
    }
    sched::enter_kernel();
    if FIBERS[target].state.get() != State::Finished
        && let Err(code) = await_end(target, until, call)
    {
        return code;
    }
    if !value.is_null() {
        // SAFETY: the caller's variable.
        unsafe { *value = FIBERS[target].thread.value.get() as *mut c_void };
    }
    reap(target);
    0
}

fn may_join(target: usize) -> Result<(), c_int> {
    let me = running_fiber();
    let other = &FIBERS[target].thread;
    if other.detached.get() || other.joiner.get().is_some() {
        return Err(libc::EINVAL);
    }
    if target == me { Err(libc::EDEADLK) } else { Ok(()) }
}

fn await_end(target: usize, until: Deadline, call: Call) -> Result<(), c_int> {
    let me = running_fiber();
    let deadline = until.ticks()?.map(|deadline| timers::late(me, deadline, 0));
    while FIBERS[target].state.get() != State::Finished {
        if deadline.is_some_and(|deadline| deadline <= now()) {
            return Err(libc::ETIMEDOUT);
        }
        if let Some(deadline) = deadline {
            timers::set(me, deadline);
        }
        FIBERS[target].thread.joiner.set(Some(me));
        crate::hooks::frames::stops_at(call.pc);
        current().blocked_at.set(call.pc);
        sched::block(Wait::Join { thread: target });
        if current().woken.get() == Woken::Thread {
            return Ok(());
        }
        FIBERS[target].thread.joiner.set(None);
        if current().woken.get() == Woken::Signal {
            cancel::test();
            crate::threads::futex::interrupted(call.pc);
        }
    }
    Ok(())
}
