// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens at a known virtual time: sleeps and waits end, the program's timers fire.
use crate::account::pace::PACE;
use crate::engine::engine;
use crate::hot::hot;
use crate::scheduling::fiber;
use crate::scheduling::fiber::fibers;
use crate::scheduling::sched::set_limit;
use corefold_model::Ticks;
use corefold_sim::Due;

/// Has [`fiber::timer_fired`] called for the fiber at `time`.
pub fn set(fiber: usize, time: Ticks) -> u64 {
    let number = engine().sim.timers.add(time, Due::Thread(fiber));
    fibers()[fiber].timer = number;
    set_limit();
    number
}

/// Forgets the fiber's timer.
pub fn cancel(fiber: usize) {
    let timer = core::mem::take(&mut fibers()[fiber].timer);
    if timer != 0 {
        engine().sim.timers.remove(timer);
    }
}

/// Has [`crate::calls::timers::fire`] called for a timer of the program's at `time`.
pub fn set_alarm(timer: usize, time: Ticks) -> u64 {
    let number = engine().sim.timers.add(time, Due::Alarm(timer));
    set_limit();
    number
}

pub fn cancel_alarm(alarm: u64) {
    if alarm != 0 {
        engine().sim.timers.remove(alarm);
    }
}

/// Wakes the sleepers whose time comes before any CPU's clock.
pub fn fire_due() {
    loop {
        let s = &mut engine().sim;
        match s.timers.pop(s.clocks.smallest()) {
            Some((time, Due::Alarm(timer))) => {
                // Timers that come again and again may be all that there is.
                crate::ending::stop_if_asked(0);
                // It takes effect now, whatever the clock of the CPU that processes it.
                let clock = core::mem::replace(&mut hot!().clock, time);
                PACE.with(|pace| pace.alarms += 1);
                crate::calls::timers::fire(timer, time);
                hot!().clock = clock;
            }
            Some((time, Due::Thread(fiber))) => fiber::timer_fired(fiber, time),
            None => return,
        }
    }
}
