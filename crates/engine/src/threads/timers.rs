// SPDX-License-Identifier: MIT OR Apache-2.0
//! What timers of the program count, and when they come due.
use crate::carrier::Carrier;
use crate::engine::{now, sim};
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::fiber::State;
use crate::scheduling::timers;
use crate::state::scheduler::{SCHED, running_fiber};
use crate::state::signals::{Information, Target};
use crate::threads::clock;
use alloc::vec::Vec;
use core::ffi::c_int;
use corefold_model::Ticks;

#[derive(Clone, Copy)]
pub struct Notice {
    pub function: u64,
    pub value: u64,
    /// A `pthread_attr_t` of the program's, or null.
    pub attributes: u64,
}

/// What a timer counts.
#[derive(Clone, Copy)]
pub enum Counts {
    Time,
    /// Time that all threads spend on CPUs.
    Process,
    /// Time that one does.
    Thread(usize),
}

/// What happens when it fires.
#[derive(Clone, Copy)]
pub enum Event {
    Nothing,
    Signal {
        target: Target,
        signal: c_int,
        value: u64,
    },
    /// The signal of `setitimer`, of which one waits at most.
    Interval(c_int),
    /// A function that runs in a thread of its own.
    Thread(Notice),
    /// A descriptor counts it.
    Descriptor(c_int),
}

pub struct Timer {
    pub counts: Counts,
    pub event: Event,
    /// What it was set for, if it counts time.
    pub asked: Ticks,
    /// When it fires next, by what it counts.
    pub next: Option<Ticks>,
    pub interval: Ticks,
    /// What the scheduler knows it by while it is to look at it; 0: it is not.
    pub alarm: u64,
    /// Its signal waits to be delivered; until then it stands still.
    pub waits: bool,
    /// Times that it fired beyond the one that was last delivered.
    pub overrun: u64,
}

struct Timers {
    all: Vec<Option<Timer>>,
    /// Timers that count CPU time while no thread runs that they count.
    asleep: Vec<usize>,
}

static TIMERS: Carrier<Timers> = Carrier::new(Timers { all: Vec::new(), asleep: Vec::new() });

/// Lends the timer, if there is one of this number.
pub fn with<R>(timer: usize, work: impl FnOnce(&mut Timer) -> R) -> Option<R> {
    TIMERS.with(|timers| timers.all.get_mut(timer)?.as_mut().map(work))
}

pub fn create(counts: Counts, event: Event) -> usize {
    let new = Timer { counts, event, asked: 0, next: None, interval: 0, alarm: 0, waits: false, overrun: 0 };
    TIMERS.with(|Timers { all, .. }| {
        let free = all.iter().position(Option::is_none).unwrap_or(all.len());
        if free == all.len() {
            all.push(None);
        }
        all[free] = Some(new);
        free
    })
}

pub fn delete(timer: usize) {
    disarm(timer);
    TIMERS.with(|timers| timers.all[timer] = None);
}

pub fn disarm(timer: usize) {
    TIMERS.with(|timers| timers.asleep.retain(|t| *t != timer));
    let alarm = with(timer, |t| {
        t.next = None;
        core::mem::take(&mut t.alarm)
    });
    if let Some(alarm) = alarm {
        timers::cancel_alarm(alarm);
    }
}

/// The timer fires at `next`, and every `interval` (unless that is 0) from then on.
pub fn arm(timer: usize, next: Ticks, interval: Ticks) {
    disarm(timer);
    let set = |t: &mut Timer| {
        (t.next, t.interval, t.waits, t.overrun) = (Some(next), interval, false, 0);
        t.asked = if matches!(t.counts, Counts::Time) { next.saturating_sub(now()) } else { 0 };
    };
    if with(timer, set).is_some() {
        schedule(timer, now());
    }
}

impl Counts {
    /// What has been counted up to `time`.
    pub fn at(self, time: Ticks) -> Ticks {
        match self {
            Counts::Time => time,
            Counts::Process => clock::process_ran(),
            Counts::Thread(fiber) => clock::ran(fiber),
        }
    }

    /// Threads that run and are counted.
    pub fn running(self) -> u64 {
        let runs = |fiber: &usize| matches!(FIBERS[*fiber].state.get(), State::Running | State::Ready);
        match self {
            Counts::Time => 1,
            Counts::Process => sim(|sim| sim.cpus.iter().filter(|cpu| cpu.thread.is_some()).count()) as u64,
            Counts::Thread(fiber) => u64::from(runs(&fiber)),
        }
    }

    pub fn of_clock(id: c_int) -> Option<Counts> {
        clock::read(id)?;
        Some(match id {
            libc::CLOCK_PROCESS_CPUTIME_ID => Counts::Process,
            libc::CLOCK_THREAD_CPUTIME_ID => Counts::Thread(running_fiber()),
            _ => clock::thread_of(id).map_or(Counts::Time, Counts::Thread),
        })
    }
}

/// Between two looks at CPU time, at most.
pub const LOOK_EVERY_NS: u64 = 1_000_000;

/// Has the scheduler call [`fire`] when the timer may be due.
pub fn schedule(timer: usize, time: Ticks) {
    let Some((Some(next), counts)) = with(timer, |t| (t.next, t.counts)) else { return };
    let at = match (counts, counts.running()) {
        (Counts::Time, _) => next,
        (_, 0) => {
            TIMERS.with(|timers| timers.asleep.push(timer));
            SCHED.asleep.set(true);
            return;
        }
        (counts, running) => {
            let left = next.saturating_sub(counts.at(time)) / running;
            time + left.clamp(corefold_model::TICKS_PER_CYCLE, clock::ticks_of(LOOK_EVERY_NS))
        }
    };
    let alarm = timers::set_alarm(timer, at);
    with(timer, |t| t.alarm = alarm);
}

/// A thread runs again: timers that count CPU time go on.
pub fn resume(time: Ticks) {
    SCHED.asleep.set(false);
    for timer in TIMERS.with(|timers| core::mem::take(&mut timers.asleep)) {
        schedule(timer, time);
    }
}

/// The timer has fired: when it does next. Returns how often its time had come.
pub fn go_on(t: &mut Timer, counted: Ticks) -> u64 {
    let Some(next) = t.next else { return 0 };
    if t.interval == 0 {
        t.next = None;
        return 1;
    }
    let times = counted.saturating_sub(next) / t.interval + 1;
    t.next = Some(next + times * t.interval);
    times
}

/// The kernel itself sends it.
pub const SI_KERNEL: c_int = 0x80;

/// A signal is about to be delivered: a timer's says how often that fired meanwhile, and the timer goes on.
pub fn delivered(information: &mut Information) {
    if information.code != libc::SI_TIMER {
        return;
    }
    let timer = information.first as usize;
    let fired = with(timer, |t| {
        let counted = t.counts.at(now());
        if t.interval != 0 && t.next.is_some_and(|next| next <= counted) {
            t.overrun += go_on(t, counted);
        }
        t.waits = false;
        information.second = t.overrun.min(i32::MAX as u64) as c_int;
    });
    if fired.is_some() {
        schedule(timer, now());
    }
}

/// What is left until the timer fires, and its interval, in ticks; (0, 0) if it is not armed.
pub fn left(timer: usize) -> (Ticks, Ticks) {
    let times = with(timer, |t| (t.next, t.interval, t.counts));
    let Some((Some(mut next), interval, counts)) = times else { return (0, 0) };
    let counted = counts.at(now());
    if next <= counted && interval != 0 {
        next += ((counted - next) / interval + 1) * interval;
    }
    (next.saturating_sub(counted).max(corefold_model::TICKS_PER_CYCLE), interval)
}

/// When a timer that is set to `nanoseconds` fires first; 0 nanoseconds: never.
pub fn first(counts: Counts, id: c_int, absolute: bool, nanoseconds: u64) -> Ticks {
    let counted = counts.at(now());
    if !absolute {
        return counted.saturating_add(clock::ticks_of(nanoseconds));
    }
    match counts {
        Counts::Time => clock::ticks_when(id, nanoseconds).unwrap_or(0).max(counted),
        _ => clock::ticks_of(nanoseconds).max(counted),
    }
}

/// A `struct itimerspec` of the program's: first time and interval, in nanoseconds.
pub fn times_in(new: &libc::itimerspec) -> Option<(u64, u64)> {
    let valid = |t: &libc::timespec| clock::nanoseconds_in(t).filter(|_| t.tv_sec >= 0);
    Some((valid(&new.it_value)?, valid(&new.it_interval)?))
}

pub fn shown(timer: usize) -> libc::itimerspec {
    let (left, interval) = left(timer);
    let span = |ticks: Ticks| clock::timespec(clock::nanoseconds_of(ticks));
    let value = if left == 0 { 0 } else { clock::nanoseconds_of(left).max(1) };
    libc::itimerspec { it_value: clock::timespec(value), it_interval: span(interval) }
}
