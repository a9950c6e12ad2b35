// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedules drawn from the seed: at each access, [`corefold_sim::delays`] says whether the thread is delayed.
//!
//! So that a delay can come between any two accesses, the running CPU's tag matches no line, so that every access takes
//! the slow path; seed 0 draws nothing, has the true tags, and is the plain schedule.
use crate::carrier::Carrier;
use crate::engine::sim;
use crate::hot::hot;
use crate::scheduling::fiber::FIBERS;
use alloc::vec::Vec;
use corefold_launch::Launch;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use corefold_recording::{HeldUp, Holding};
use corefold_sim::delays::{Cause, Delay, Delays};

pub struct Perturb {
    pub look_around: Ticks,
    /// No thread has done anything but look at memory since.
    pub looking_since: Ticks,
    /// Virtual time that the run may take, without delays.
    pub most: Ticks,
}

pub static PERTURB: Carrier<Perturb> = Carrier::new(Perturb { look_around: 0, looking_since: 0, most: Ticks::MAX });

/// The run begins.
pub fn begin(launch: &Launch) {
    let most = if launch.longest == 0 { Ticks::MAX } else { launch.longest.saturating_mul(TICKS_PER_CYCLE) };
    PERTURB.with(|p| p.most = most);
}

/// The last delays, oldest first.
pub fn last() -> Vec<HeldUp> {
    sim(|sim| sim.delays.iter().flat_map(Delays::last).map(recorded).collect())
}

fn recorded(delay: &Delay) -> HeldUp {
    let how = match delay.cause {
        Cause::Access => Holding::Access,
        Cause::Preempted => Holding::Preempted,
        Cause::Wake => Holding::Wake,
    };
    let (at, cycles) = (delay.at / TICKS_PER_CYCLE, delay.length / TICKS_PER_CYCLE);
    HeldUp { thread: delay.thread as u32, how, at, cycles, pc: delay.pc }
}

/// How much later a thread begins to run that would at `time`, as it was woken or is new.
pub fn late(fiber: usize, time: Ticks) -> Ticks {
    let blocked_at = FIBERS[fiber].blocked_at.get();
    sim(|sim| sim.delays.as_mut().map_or(0, |delays| delays.woken(fiber, blocked_at, time)))
}

/// The running thread has written something, or has woken another: between two looks around, that may have been all.
#[inline]
pub fn worked() {
    PERTURB.with(|p| p.looking_since = p.looking_since.max(hot().clock.get()));
}
