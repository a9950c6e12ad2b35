// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wait for descriptors.
use super::descriptors;
use crate::carrier::Carrier;
use crate::engine::{active, charge, launch, now};
use crate::scheduling::fiber::{FIBERS, current};
use crate::scheduling::fiber::{State, Wait, Woken};
use crate::scheduling::outside;
use crate::scheduling::{placing, sched, timers};
use crate::state::scheduler::running_fiber;
use crate::sys;
use crate::threads::cancel;
use crate::threads::clock;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use corefold_model::Ticks;

pub struct Waiting {
    fiber: usize,
    fds: Vec<libc::pollfd>,
    /// Only one of the threads that wait for it gets what arrives.
    takes: bool,
    /// Only this process can make it ready.
    inside: bool,
}

/// In order of arrival.
static WAITERS: Carrier<Vec<Waiting>> = Carrier::new(Vec::new());

fn nobody_waits() -> bool {
    WAITERS.with(|waiters| waiters.is_empty())
}

pub fn pollfd(fd: c_int, events: i16) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

pub fn is_ready(fd: c_int, events: i16) -> bool {
    sys::poll(&mut [pollfd(fd, events)], 0) != 0
}

pub fn blocks(fd: c_int) -> bool {
    // SAFETY: reads flags.
    let flags = unsafe { sys::syscall!(libc::SYS_fcntl, fd, libc::F_GETFL; 0, 0, 0, 0) };
    flags >= 0 && flags & i64::from(libc::O_NONBLOCK) == 0
}

/// Makes a call on `fd` that does not block, whatever the descriptor's mode.
pub fn without_blocking(fd: c_int, call: impl FnOnce() -> i64) -> i64 {
    // SAFETY: reads and sets flags, which are as they were afterwards.
    unsafe {
        let flags = sys::syscall!(libc::SYS_fcntl, fd, libc::F_GETFL; 0, 0, 0, 0);
        sys::syscall!(libc::SYS_fcntl, fd, libc::F_SETFL, flags | i64::from(libc::O_NONBLOCK); 0, 0, 0);
        let code = call();
        sys::syscall!(libc::SYS_fcntl, fd, libc::F_SETFL, flags; 0, 0, 0);
        code
    }
}

/// Time between two tries of a call, where the kernel does not tell when it can succeed.
pub const TRY_AGAIN_NS: u64 = 20_000;

/// Waits until another thread has read from the event descriptor `fd`. It may be ready to be written
/// already, only not to take as much as is wanted: then all that is left is to try again.
pub fn await_room_to_count(fd: c_int, call: &'static str) -> Result<(), c_int> {
    if is_ready(fd, libc::POLLOUT) {
        crate::calls::sleep::until_next_try(now() + clock::ticks_of(TRY_AGAIN_NS), Wait::Sleep, true)
    } else {
        await_ready(fd, libc::POLLOUT, None, call)
    }
}

/// Returns when a call on `fd` will not block: at once if it never does. EAGAIN: the deadline passed; EINTR:
/// a handler has run after which the call is not to go on. A call with a time-out is not restarted, as on Linux.
pub fn await_ready(fd: c_int, events: i16, deadline: Option<Ticks>, call: &'static str) -> Result<(), c_int> {
    await_ready_restarting(fd, events, deadline, call, deadline.is_none())
}

/// The same of a call that says whether it `restarts` after handlers with `SA_RESTART`.
pub fn await_ready_restarting(
    fd: c_int,
    events: i16,
    deadline: Option<Ticks>,
    call: &'static str,
    restarts: bool,
) -> Result<(), c_int> {
    await_while(&|| blocks(fd), (fd, events), deadline, call, restarts)
}

/// The same of a call that waits whatever the descriptor's mode, and restarts.
pub fn await_in_any_mode(fd: c_int, events: i16, call: &'static str) -> Result<(), c_int> {
    await_while(&|| true, (fd, events), None, call, true)
}

fn await_while(
    waits: &dyn Fn() -> bool,
    (fd, events): (c_int, i16),
    deadline: Option<Ticks>,
    call: &'static str,
    restarts: bool,
) -> Result<(), c_int> {
    cancel::test();
    while !is_ready(fd, events) && waits() {
        if sched::alone() && nobody_waits() && deadline.is_none() && !descriptors::is_inside(fd) {
            // As if it had been ready: real waiting time must not appear in the run.
            current().wait.set(Wait::Io { fd, events, call });
            sys::poll(&mut [pollfd(fd, events)], -1);
            crate::ending::stop_if_asked(0);
            crate::threads::signals::take_in();
            current().wait.set(Wait::Nothing);
            cancel::at_once();
            crate::threads::signals::delivery::deliver(0);
            continue;
        }
        match park(alloc::vec![pollfd(fd, events)], true, deadline, call) {
            Woken::Thread => {}
            Woken::Timer => return Err(libc::EAGAIN),
            Woken::Signal if interrupted().is_some_and(|goes_on| !goes_on || !restarts) => {
                return Err(libc::EINTR);
            }
            Woken::Signal => {}
        }
    }
    Ok(())
}

/// The running thread was woken to look: lets handlers run; see [`crate::threads::signals::delivery::deliver`].
pub fn interrupted() -> Option<bool> {
    cancel::test();
    crate::threads::signals::delivery::deliver(0)
}

/// libc is about to read `fd`.
pub fn await_input(fd: c_int) {
    while await_ready(fd, libc::POLLIN, None, "read").is_err() {}
}

/// libc is about to write to `fd`. Whether another process reads what is written is not simulated.
pub fn await_room(fd: c_int) {
    if fd >= 0 && descriptors::any_inside() && descriptors::is_read_here(fd) {
        while await_ready(fd, libc::POLLOUT, None, "write").is_err() {}
    }
}

/// Can a write to `fd` block until another thread of the program reads?
pub fn fills_up(fd: c_int) -> bool {
    fd >= 0 && descriptors::any_inside() && descriptors::is_read_here(fd) && blocks(fd)
}

/// Polls at intervals, as a stream of the standard library may have been written to without a call of ours.
pub fn glance() {
    glance_at(now());
}

pub fn glance_at(now: Ticks) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if now >= NEXT.load(Ordering::Relaxed) {
        NEXT.store(now + clock::ticks_of(GLANCES_NS), Ordering::Relaxed);
        wake_ready(0);
    }
}

/// Virtual time between two polls.
pub const GLANCES_NS: u64 = 50_000;

/// Takes the running thread off its CPU until one of `fds` may be ready, or something else wakes it.
pub fn park(fds: Vec<libc::pollfd>, takes: bool, deadline: Option<Ticks>, call: &'static str) -> Woken {
    let me = running_fiber();
    if let Some(deadline) = deadline {
        if deadline <= now() {
            return Woken::Timer;
        }
        // Linux, select_estimate_accuracy: a thousandth of the time, a tenth of a second at most.
        let thousandth = clock::nanoseconds_of(deadline - now()) / 1000;
        timers::set(me, timers::late(me, deadline, thousandth.min(100_000_000)));
    }
    let first = fds.first().map_or(pollfd(-1, 0), |f| *f);
    let inside = fds.iter().all(|f| descriptors::is_inside(f.fd));
    WAITERS.with(|waiters| waiters.push(Waiting { fiber: me, fds, takes, inside }));
    outside::set_waits(true);
    sched::block(Wait::Io { fd: first.fd, events: first.events, call });
    WAITERS.with(|waiters| waiters.retain(|w| w.fiber != me));
    outside::set_waits(!nobody_waits());
    current().woken.get()
}

/// Something was done that may have made descriptors ready: wakes those who wait for them.
pub fn changed() {
    if active() && !nobody_waits() {
        wake_ready(0);
    }
}

/// Wakes the threads whose descriptors are ready, in the order in which they began to wait, after
/// waiting in real time for up to so many milliseconds. Returns how many.
pub fn wake_ready(timeout: c_int) -> usize {
    let all = |waiters: &mut Vec<Waiting>| waiters.iter().flat_map(|w| w.fds.iter().copied()).collect();
    let mut fds: Vec<libc::pollfd> = WAITERS.with(all);
    if sys::poll(&mut fds, timeout) <= 0 {
        return 0;
    }
    let mut looked_at = fds.as_slice();
    let mut taken: Vec<(c_int, i16)> = Vec::new();
    let mut woken = Vec::new();
    let stays = |w: &Waiting| {
        let (own, rest) = looked_at.split_at(w.fds.len());
        looked_at = rest;
        if FIBERS[w.fiber].state.get() != State::Blocked {
            // It has timed out, and has not run since.
            return false;
        }
        let what = own.first().map_or((-1, 0), |f| (f.fd, f.events));
        let goes = own.iter().any(|f| f.revents != 0) && !(w.takes && taken.contains(&what));
        if goes {
            taken.push(what);
            woken.push(w.fiber);
        }
        !goes
    };
    WAITERS.with(|waiters| waiters.retain(stays));
    outside::set_waits(!nobody_waits());
    for fiber in &woken {
        charge(launch().machine.system.syscall / 4);
        timers::cancel(*fiber);
        placing::wake(*fiber, now());
    }
    woken.len()
}

/// Can outside input end the wait of a thread?
pub fn awaits_world() -> bool {
    WAITERS.with(|waiters| waiters.iter().any(|w| !w.inside))
}

/// Nothing in the program can run: waits for outside input, if a thread waits for some.
pub fn wait_for_world() -> bool {
    if !nobody_waits() && wake_ready(0) > 0 {
        return true;
    }
    while awaits_world() {
        crate::ending::stop_if_asked(0);
        if crate::threads::signals::take_in() {
            return true;
        }
        if wake_ready(-1) > 0 {
            return true;
        }
    }
    false
}
