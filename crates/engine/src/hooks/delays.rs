// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedules drawn from the seed, at each access: [`corefold_sim::delays`] says whether the thread is delayed. And runs without
//! progress: they are ended.
use crate::account::freed;
use crate::engine::{launch, running_cpu, sim};
use crate::hot::hot;
use crate::scheduling::fiber::{FIBERS, Fiber, State, Wait, current, goes_away};
use crate::scheduling::perturb::PERTURB;
use crate::scheduling::{lease, sched, shown};
use crate::state::scheduler::running_fiber;
use crate::state::signals::FROM_OUTSIDE;
use crate::storage::relayout::tag_of;
use core::sync::atomic::Ordering;
use corefold_model::{TICKS_PER_CYCLE, Tag, Ticks, ticks};
use corefold_recording::AccessKind;
use corefold_sim::Lease;
use corefold_sim::delays::Step;

/// Threads that only poll for so long (a share of a second of virtual time) are taken to poll for ever.
const LOOK_FOR: u64 = 100;

/// Cycles between two checks of whether all threads only poll.
const LOOK_AROUND: u32 = 50_000;

/// A plain access is about to happen. True if a lease would cover it: then it costs nothing.
#[cold]
pub fn plain(address: u64, size: u64, pc: u64, what: AccessKind) -> bool {
    step(false, pc);
    freed::check(address, size, pc, what);
    let (cpu, tag) = (running_cpu(), tag_of(address));
    match what {
        AccessKind::Read => {
            current().spins.with(|spins| spins.note_read(address));
            Lease::covers_read(tag, cpu)
        }
        // The first store since the line was written back is an event, which notes that it is modified again.
        _ => tag == Tag::private_dirty(cpu),
    }
}

/// An atomic operation is about to happen.
#[cold]
pub fn atomic(address: u64, size: u8, pc: u64, what: AccessKind) {
    step(true, pc);
    freed::check(address, u64::from(size), pc, what);
}

/// Code without hooks may be called next, such as a lock's in Rust's standard library: what it accesses is not seen, so this
/// is the last place before it.
#[cold]
pub fn call(pc: u64) {
    step(true, pc);
}

fn step(atomic: bool, pc: u64) {
    if hot().clock.get() >= PERTURB.with(|p| p.look_around) {
        look_around(pc);
    }
    if current().spins.with(|spins| spins.spinning()) {
        // A waiting thread loses nothing by waiting longer.
        return;
    }
    let step = sim(|sim| {
        let waits = !sim.cpus[sim.cpu].ready.is_empty();
        let delays = sim.delays.as_mut()?;
        Some(delays.step(running_fiber(), atomic, waits, pc, hot().clock.get()))
    });
    let Some(step) = step else { return };
    match step {
        Step::Nothing => {}
        Step::Preempted => {
            sched::give_way(usize::MAX);
            lease::set_limit();
        }
        Step::Delayed(length) => hold_up(length),
    }
}

/// The running CPU is busy with something else for a while; its thread waits, and others continue.
fn hold_up(length: Ticks) {
    let (cpu, clock) = (running_cpu() as usize, hot().clock.get());
    let me = running_fiber();
    goes_away(me, clock);
    hot().clock.set(clock + length);
    let first = sim(|sim| sim.threads[me].begin(clock + length));
    current().comes_back(cpu, clock + length, first);
    sim(|sim| {
        sim.cpus[cpu].next_sample += length;
        sim.cpus[cpu].counted += length;
    });
    sched::sync();
}

/// Ends a run without progress; the running thread is at `pc`.
pub fn look_around(pc: u64) {
    let clock = hot().clock.get();
    let (most, next) = PERTURB.with(|p| (p.most, p.look_around));
    if clock.saturating_sub(sim(|sim| sim.delays.as_ref().map_or(0, |delays| delays.total))) > most {
        crate::ending::livelock(pc, false);
    }
    if !shown::all_accesses() && clock < next {
        return;
    }
    let all_look = all_look();
    let since = PERTURB.with(|p| {
        p.look_around = clock + ticks(LOOK_AROUND);
        if !all_look {
            p.looking_since = clock;
        }
        p.looking_since
    });
    let long = launch().machine.clock_hz / LOOK_FOR * TICKS_PER_CYCLE;
    if clock.saturating_sub(since) > long && all_had_a_turn(since) {
        crate::ending::livelock(pc, true);
    }
}

/// Has every thread that waits for a CPU looked since, and found that it has to go on looking?
fn all_had_a_turn(since: Ticks) -> bool {
    let looked = |f: &Fiber| {
        f.state.get() != State::Ready || f.off_cpu_since.get() > since + f.spins.with(|spins| spins.period())
    };
    FIBERS.iter().all(looked)
}

/// All threads only poll memory, and no outside input or timer is due. Without a seed the run is to end as it would
/// natively: then only a loop counts that cannot end by itself, as no register changes in it.
fn all_look() -> bool {
    let guesses = shown::all_accesses() || launch().explores;
    let spins = |f: &Fiber| {
        if guesses { f.spins.with(|spins| spins.spinning()) } else { f.spins.with(|spins| spins.goes_on()) }
    };
    let looks = |f: &Fiber| match f.state.get() {
        State::Running | State::Ready => spins(f),
        State::Blocked => !matches!(f.wait.get(), Wait::Io { .. } | Wait::Sleep | Wait::Retry { .. }),
        State::Finished => true,
    };
    sim(|sim| sim.timers.is_empty()) && FIBERS.iter().all(looks) && (guesses || !FROM_OUTSIDE.load(Ordering::Relaxed))
}
