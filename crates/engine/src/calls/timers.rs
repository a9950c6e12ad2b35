// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timers of the program, in virtual time: what they count, when they fire, and what for. Those that count
//! CPU time are looked at now and then while threads run, as Linux does at its clock's ticks.
mod descriptors;
mod interval;
mod posix;
mod threads;

use crate::counts::pace::PACE;
use crate::state::signals::{Information, Target};
use crate::threads::signals::sending::send;
use crate::threads::timers::{Event, SI_KERNEL, go_on, schedule, with};
use core::ffi::c_int;
use corefold_model::Ticks;

/// The scheduler has come to the time that it was told.
pub fn fire(timer: usize, time: Ticks) {
    let times = with(timer, |t| {
        t.alarm = 0;
        let counted = t.counts.at(time);
        if counted < t.next? {
            return Some(0);
        }
        PACE.with(|pace| pace.longest_alarm = pace.longest_alarm.max(t.asked));
        Some(go_on(t, counted))
    });
    match times.flatten() {
        None => return,
        Some(0) => return schedule(timer, time),
        Some(times) => act(timer, times, time),
    }
    if with(timer, |t| t.waits) == Some(false) {
        schedule(timer, time);
    }
}

fn act(timer: usize, times: u64, time: Ticks) {
    let Some(event) = with(timer, |t| t.event) else { return };
    match event {
        Event::Nothing => {}
        Event::Interval(signal) => {
            send(Target::Process, Information::new(signal, SI_KERNEL, 0, 0, 0), time);
        }
        Event::Signal { target, signal, value } => {
            with(timer, |t| t.overrun = times - 1);
            let said = Information::new(signal, libc::SI_TIMER, timer as c_int, 0, value);
            let waits = send(target, said, time);
            with(timer, |t| t.waits = waits);
        }
        Event::Thread(notice) => threads::notify(notice, times, time),
        Event::Descriptor(fd) => descriptors::count(fd, times),
    }
}
