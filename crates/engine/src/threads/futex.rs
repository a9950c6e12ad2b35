// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting on a word of memory: what the simulated kernel does for futexes. The pthread objects are
//! built on it, as glibc's are.
use crate::engine::{charge, launch, seed, sim};
use crate::entry::Call;
use crate::hooks::access::timed;
use crate::hot::hot;
use crate::mappings::shared;
use crate::scheduling::fiber::{Wait, Woken, current};
use crate::scheduling::lease::set_limit;
use crate::scheduling::program_memory::read_value;
use crate::scheduling::{placing, sched, timers};
use crate::state::scheduler::{SCHED, running_fiber};
use crate::threads::cancel;
use corefold_model::{Kind, Ticks};
use corefold_recording::AccessKind;
use corefold_sim::{Asleep, Sleeper};

/// Matches every waiter.
pub const ANY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    Woken,
    /// The word did not hold the expected value.
    Changed,
    TimedOut,
    /// A signal came, or the thread is to be cancelled; what handlers there were have run. Is the wait to go
    /// on, as far as they are concerned?
    Interrupted(bool),
}

/// Waits until [`wake`], if the word still holds `expected`. `object` is what the user knows this wait by.
pub fn wait(call: Call, object: u64, address: u64, expected: u32, bits: u32, deadline: Option<Ticks>) -> Waited {
    let (before, after) = parts_of_system_call(launch().machine.system.futex);
    sched::quiesce();
    charge(before);
    timed(address, call.pc, 4, Kind::Load, AccessKind::AtomicLoad);
    // From here on nobody runs until this fiber is in the queue: a wake-up cannot fall in between.
    sched::sync();
    crate::scheduling::store_buffer::flush(hot().clock.get());
    let found = read_value(address, 4) as u32;
    let (me, key) = (running_fiber(), shared::key(address));
    let deadline = deadline.map(|deadline| timers::late(me, deadline, 0));
    let sleeper = Sleeper { thread: me, bits, found, expected, deadline };
    match sim(|sim| sim.futexes.wait(&mut sim.timers, key, sleeper, hot().clock.get())) {
        Asleep::Yes => {}
        Asleep::Changed => {
            charge(after);
            return Waited::Changed;
        }
        Asleep::TooLate => return Waited::TimedOut,
    }
    if deadline.is_some() {
        set_limit();
    }
    // The lock's word may never be written by code with hooks: std's own is compiled without.
    crate::hooks::frames::note(object, call.pc);
    current().blocked_at.set(call.pc);
    sched::block(Wait::Futex { object, call: call.name });
    match current().woken.get() {
        Woken::Timer => Waited::TimedOut,
        Woken::Thread => Waited::Woken,
        Woken::Signal => Waited::Interrupted(interrupted(call.pc)),
    }
}

/// The running thread was woken to look: lets handlers run. Is what it waited for to go on?
pub fn interrupted(pc: u64) -> bool {
    cancel::at_once();
    crate::threads::signals::delivery::deliver(pc).unwrap_or(true)
}

/// The time of a call that takes `all` until the kernel looks at the futex, and from then on: what is the futex's own
/// comes before. It varies from call to call: were it constant, threads that contend for a lock would fall into
/// step, and each would find the word changed, or none would.
fn parts_of_system_call(all: u32) -> (u32, u32) {
    let any = launch().machine.system.syscall;
    let all = all.max(any);
    let seed = seed().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = SCHED.futex_random.get();
    if random == 0 {
        random = seed;
    }
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    SCHED.futex_random.set(random);
    let before = all - any + any / 4 + (random % u64::from(any / 2 + 1)) as u32;
    (before, all - before)
}

/// Wakes up to `most` fibers that wait with any of `bits`; returns how many.
pub fn wake(address: u64, most: u32, bits: u32) -> u32 {
    let (before, after) = parts_of_system_call(launch().machine.system.futex_wake);
    sched::quiesce();
    charge(before);
    sched::sync();
    let woken = wake_queued(address, most, bits);
    charge(after);
    woken
}

/// The part of a wake-up that the kernel does.
fn wake_queued(address: u64, most: u32, bits: u32) -> u32 {
    let system = &launch().machine.system;
    let key = shared::key(address);
    let nobody = system.futex_wake.max(system.syscall);
    let call = system.wake_call.saturating_sub(nobody).max(system.syscall / 4);
    let mut woken = 0;
    while woken < most {
        let Some(thread) = sim(|sim| sim.futexes.wake(&mut sim.timers, key, bits)) else { break };
        woken += 1;
        placing::wake(thread, hot().clock.get());
        charge(call);
    }
    woken
}

/// Wakes up to `wake` waiters, and has up to `moved` of the others wait at `to` from now on. Returns
/// how many of each; `None` if the word does not hold `expected`.
pub fn requeue(from: u64, to: u64, wake: u32, moved: u32, expected: Option<u32>) -> Option<(u32, u32)> {
    sched::enter_kernel();
    sched::sync();
    if expected.is_some_and(|e| e != read_value(from, 4) as u32) {
        return None;
    }
    let woken = wake_queued(from, wake, ANY);
    let (from, to) = (shared::key(from), shared::key(to));
    Some((woken, sim(|sim| sim.futexes.requeue(from, to, moved))))
}
