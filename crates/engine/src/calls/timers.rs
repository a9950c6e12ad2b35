// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers of the program, in virtual time: what they count, when they fire, and what for. Those that count
//! CPU time are looked at now and then while threads run, as Linux does at its clock's ticks.
pub mod descriptor_table;
mod descriptors;
mod interval;
mod posix;
mod threads;

use crate::counts::pace::PACE;
use crate::state::signals::Information;
use crate::threads::signals::sending::{Target, send};
use crate::threads::timers::{Event, SI_KERNEL, get, go_on, schedule};
use core::ffi::c_int;
use corefold_model::Ticks;

/// The scheduler has come to the time that it was told.
pub fn fire(timer: usize, time: Ticks) {
    let Some(t) = get(timer) else { return };
    t.alarm = 0;
    let Some(next) = t.next else { return };
    let counted = t.counts.at(time);
    if counted < next {
        return schedule(timer, time);
    }
    PACE.with(|pace| pace.longest_alarm = pace.longest_alarm.max(t.asked));
    let times = go_on(t, counted);
    act(timer, times, time);
    if get(timer).is_some_and(|t| !t.waits) {
        schedule(timer, time);
    }
}

fn act(timer: usize, times: u64, time: Ticks) {
    let Some(t) = get(timer) else { return };
    match t.event {
        Event::Nothing => {}
        Event::Interval(signal) => {
            send(Target::Process, Information::new(signal, SI_KERNEL, 0, 0, 0), time);
        }
        Event::Signal { target, signal, value } => {
            t.overrun = times - 1;
            let said = Information::new(signal, libc::SI_TIMER, timer as c_int, 0, value);
            let waits = send(target, said, time);
            if let Some(t) = get(timer) {
                t.waits = waits;
            }
        }
        Event::Thread(notice) => threads::notify(notice, times, time),
        Event::Descriptor(fd) => descriptors::count(fd, times),
    }
}
