// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens at a known virtual time: sleeps and waits end, the program's timers fire.
use crate::crash;
use crate::engine::engine;
use crate::hooks::hot::hot;
use crate::scheduling::fiber;
use crate::scheduling::sched::set_limit;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use corefold_model::Ticks;

/// Numbers from here on are those of the program's timers, not of fibers.
const ALARMS: usize = 1 << 32;

/// By time, then in the order in which they were set.
#[derive(Default)]
pub struct Timers {
    queue: BinaryHeap<Reverse<(Ticks, u64, usize)>>,
    count: u64,
}

impl Timers {
    /// When the next one is due.
    #[inline]
    pub fn next(&self) -> Ticks {
        self.queue.peek().map_or(Ticks::MAX, |Reverse((time, ..))| *time)
    }

    /// Does each end the wait of one of these fibers?
    pub fn are_of(&self, fibers: impl Fn(usize) -> bool) -> bool {
        self.queue.iter().all(|Reverse((_, _, fiber))| *fiber < ALARMS && fibers(*fiber))
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns what it is removed by.
    fn add(&mut self, time: Ticks, whose: usize) -> u64 {
        self.count += 1;
        self.queue.push(Reverse((time, self.count, whose)));
        self.count
    }

    fn remove(&mut self, number: u64) {
        self.queue.retain(|Reverse((_, other, _))| *other != number);
    }
}

/// Has [`fiber::timer_fired`] called for the fiber at `time`.
pub fn set(fiber: usize, time: Ticks) -> u64 {
    let number = engine().sched.timers.add(time, fiber);
    engine().fibers[fiber].timer = number;
    set_limit();
    number
}

/// Forgets the fiber's timer.
pub fn cancel(fiber: usize) {
    let timer = core::mem::take(&mut engine().fibers[fiber].timer);
    if timer != 0 {
        engine().sched.timers.remove(timer);
    }
}

/// Has [`crate::calls::timers::fire`] called for a timer of the program's at `time`.
pub fn set_alarm(timer: usize, time: Ticks) -> u64 {
    let number = engine().sched.timers.add(time, ALARMS + timer);
    set_limit();
    number
}

pub fn cancel_alarm(alarm: u64) {
    if alarm != 0 {
        engine().sched.timers.remove(alarm);
    }
}

/// Wakes the sleepers whose time comes before any CPU's clock.
pub fn fire_due() {
    loop {
        let s = &mut engine().sched;
        if s.timers.next() > s.others() || s.timers.is_empty() {
            return;
        }
        match s.timers.queue.pop() {
            Some(Reverse((time, _, timer))) if timer >= ALARMS => {
                // Timers that come again and again may be all that there is.
                crash::stop_if_asked(0);
                // It takes effect now, whatever the clock of the CPU that processes it.
                let clock = core::mem::replace(&mut hot!().clock, time);
                engine().alarms += 1;
                crate::calls::timers::fire(timer - ALARMS, time);
                hot!().clock = clock;
            }
            Some(Reverse((time, _, fiber))) => fiber::timer_fired(fiber, time),
            None => {}
        }
    }
}
