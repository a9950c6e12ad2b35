// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens at a known virtual time: sleeps and waits end, the program's timers fire.
use crate::engine::{sim, ticks_of};
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::lease::set_limit;
use corefold_model::Ticks;

/// Has [`fiber::timer_fired`] called for the fiber at `time`.
pub fn set(fiber: usize, time: Ticks) {
    sim(|sim| sim.timers.set(fiber, time));
    set_limit();
}

/// When the kernel ends a wait that the program wants to end at `deadline`: by the thread's timer slack later, or by `least`
/// nanoseconds if that is more.
pub fn late(fiber: usize, deadline: Ticks, least: u64) -> Ticks {
    let thread = &FIBERS[fiber].thread;
    let is_realtime = matches!(thread.priority.get().policy, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE);
    deadline.saturating_add(if is_realtime { 0 } else { ticks_of(thread.slack.get().own.max(least)) })
}

/// Forgets the fiber's timer.
pub fn cancel(fiber: usize) {
    sim(|sim| sim.timers.cancel(fiber));
}

/// Has [`crate::calls::timers::fire`] called for a timer of the program's at `time`.
pub fn set_alarm(timer: usize, time: Ticks) -> u64 {
    let number = sim(|sim| sim.timers.set_alarm(timer, time));
    set_limit();
    number
}

pub fn cancel_alarm(alarm: u64) {
    if alarm != 0 {
        sim(|sim| sim.timers.remove(alarm));
    }
}
