// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedules drawn from the seed: it decides where threads are delayed, and for how long.
//!
//! Whatever happens here can happen on a real machine: a CPU takes an interrupt, its thread loses the CPU,
//! a wake-up is late, a store stays in the store buffer. So that a delay can come between any two accesses,
//! the running CPU's tag matches no line, so that every access takes the slow path; seed 0 draws nothing,
//! has the true tags, and is the plain schedule.
//!
//! What is drawn for a whole run (how often, how long, which threads) is spread over powers of two, so that some
//! seeds suit programs of any size: Burckhardt et al. 2010 choose a few points among all steps, and a long
//! delay at one is their lowest priority; many short ones are a random walk.
use crate::calls::random::Stream;
use crate::calls::signals;
use crate::crash;
use crate::engine::{current, engine, tag_of};
use crate::hooks::access::origin;
use crate::hooks::hot::hot;
use crate::scheduling::fiber::{Fiber, State, Wait};
use crate::scheduling::sched;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use corefold_launch::Launch;
use corefold_model::{Access, Kind, TICKS_PER_CYCLE, Tag, Ticks, ticks};
use corefold_recording::{AccessKind, HeldUp, Holding};

/// In place of the running CPU's tags: bit 0 is in no clean tag, and there is no CPU of this number.
pub const NO_TAG: u32 = u32::MAX;

const PURPOSE: u64 = 4;
/// Accesses between two delays: up to 2 to this power.
const RAREST: u64 = 14;
/// A delay is at least 2 to this power of cycles.
const SHORTEST: u64 = 4;
/// Bytes of freed memory that are not reused at once, where the seed says so.
const QUARANTINE: u64 = 16 << 20;
/// Cycles around a common start.
const LEEWAY: u32 = 256;
/// Threads that only poll for so long (a share of a second of virtual time) are taken to poll for ever.
const LOOK_FOR: u64 = 100;
/// Cycles between two checks of whether all threads only poll.
const LOOK_AROUND: u32 = 50_000;

/// Delays that are remembered, of one thread and of all: a failure comes soon after those that caused it.
const REMEMBERED_OF_ONE: usize = 2;
const REMEMBERED: usize = 8;

/// What the seed decides.
pub struct Perturb {
    random: Stream,
    /// Accesses until the next delay; one of an atomic operation counts for several.
    left: u64,
    /// The most is 2 to this power.
    gap: u64,
    atomic_weight: u64,
    /// Delays that remain.
    budget: u64,
    /// The longest is 2 to this power of cycles.
    longest: u64,
    /// A bit for each thread (modulo 64) that is never delayed.
    calm: u64,
    /// Atomic stores stay in the store buffer for up to 2 to this power of cycles; 0: no longer than usual.
    store: u64,
    /// Woken threads start at multiples of this many cycles, so that some start together; 0: each is late by
    /// itself.
    tick: u64,
    /// Freed memory that waits before its reuse.
    pub quarantine: u64,
    /// All delays so far.
    held_up: Ticks,
    last: VecDeque<HeldUp>,
    look_around: Ticks,
    /// No thread has done anything but look at memory since.
    looking_since: Ticks,
    /// Virtual time that the run may take, without delays.
    most: Ticks,
}

impl Perturb {
    pub fn new(launch: &Launch) -> Self {
        let mut random = Stream::new(launch.seed, PURPOSE);
        let one_of = |random: &mut Stream, from: u64, to: u64| from + random.next() % (to - from + 1);
        let slice = u64::from(launch.machine.system.timeslice.max(1 << 8).ilog2());
        let gap = one_of(&mut random, 2, RAREST);
        let atomic_weight = [1, 8, 64][one_of(&mut random, 0, 2) as usize];
        // A few long ones, or any number of any length.
        let few = one_of(&mut random, 0, 1) == 0;
        let budget = if few { one_of(&mut random, 1, 6) } else { u64::MAX };
        let longest = if few { slice } else { one_of(&mut random, SHORTEST + 4, slice) };
        let calm = if one_of(&mut random, 0, 1) == 0 { random.next() } else { 0 };
        let store = if one_of(&mut random, 0, 1) == 0 { one_of(&mut random, 4, 9) } else { 0 };
        let tick = if one_of(&mut random, 0, 1) == 0 { one_of(&mut random, 10, slice - 2) } else { 0 };
        let quarantine = if one_of(&mut random, 0, 3) == 0 { 0 } else { QUARANTINE };
        let most = if launch.longest == 0 { Ticks::MAX } else { launch.longest.saturating_mul(TICKS_PER_CYCLE) };
        let mut perturb = Perturb {
            random,
            left: 0,
            gap,
            atomic_weight,
            budget,
            longest,
            calm,
            store,
            tick,
            quarantine,
            held_up: 0,
            last: VecDeque::new(),
            look_around: 0,
            looking_since: 0,
            most,
        };
        perturb.left = perturb.next_gap();
        perturb
    }

    /// Never 0, its logarithm evenly distributed: delays come in bursts and after long pauses.
    fn next_gap(&mut self) -> u64 {
        let power = self.random.next() % self.gap;
        (1 << power) + self.random.next() % (1 << power)
    }

    /// Ticks of one delay, its logarithm evenly distributed.
    fn length(&mut self) -> Ticks {
        let power = SHORTEST + self.random.next() % (self.longest - SHORTEST);
        ((1 << power) + self.random.next() % (1 << power)) * TICKS_PER_CYCLE
    }

    fn spares(&self, fiber: usize) -> bool {
        self.calm >> (fiber % 64) & 1 != 0
    }

    fn coin(&mut self) -> bool {
        self.random.next() & 1 == 0
    }

    fn remember(&mut self, how: Holding, thread: usize, pc: u64, at: Ticks, length: Ticks) {
        let mut of_one = self.last.iter().enumerate().filter(|(_, held)| held.thread == thread as u32);
        let oldest = of_one.next().map(|(place, _)| place);
        let too_many = of_one.count() + 1 >= REMEMBERED_OF_ONE;
        match oldest.filter(|_| too_many) {
            Some(place) => drop(self.last.remove(place)),
            None if self.last.len() == REMEMBERED => drop(self.last.pop_front()),
            None => {}
        }
        let (at, cycles) = (at / TICKS_PER_CYCLE, length / TICKS_PER_CYCLE);
        self.last.push_back(HeldUp { thread: thread as u32, how, at, cycles, pc });
    }

    /// The last delays, oldest first.
    pub fn last(&self) -> Vec<HeldUp> {
        self.last.iter().copied().collect()
    }
}

fn perturb() -> &'static mut Perturb {
    &mut engine().perturb
}

/// Is this a schedule drawn from a seed?
#[inline]
pub fn on() -> bool {
    hot!().tag == NO_TAG
}

/// The tags that the hooks compare with while `cpu` runs: of its own lines, clean and modified.
pub fn tags(launch: &Launch, cpu: u32) -> (u32, u32) {
    match launch.seed {
        0 => (Tag::private_clean(cpu).bits(), Tag::private_dirty(cpu).bits()),
        _ => (NO_TAG, NO_TAG),
    }
}

/// A plain access is about to happen. True if its line is the CPU's own: then it costs nothing.
#[cold]
pub fn plain(address: u64, size: u64, pc: u64, what: AccessKind) -> bool {
    step(1, pc);
    crate::storage::freed::check(address, size, pc, what);
    let (cpu, tag) = (engine().sched.cpu as u32, *tag_of(address));
    match what {
        AccessKind::Read => {
            current().spins.note_read(crate::engine::line_start(address));
            tag.private_cpu() == Some(cpu)
        }
        _ => tag == Tag::private_dirty(cpu),
    }
}

/// An atomic operation is about to happen.
#[cold]
pub fn atomic(address: u64, size: u8, pc: u64, what: AccessKind) {
    step(perturb().atomic_weight, pc);
    crate::storage::freed::check(address, u64::from(size), pc, what);
}

/// When an atomic store takes effect that would at `effect`.
#[cold]
pub fn stored(address: u64, size: u8, pc: u64, effect: Ticks) -> Ticks {
    let p = perturb();
    if p.store == 0 || p.coin() {
        return effect;
    }
    let until = effect.max(hot!().clock) + ticks((p.random.next() % (1 << p.store)) as u32);
    let (cpu, size) = (engine().sched.cpu as u32, u32::from(size));
    let access =
        Access { cpu, address, size, kind: Kind::AtomicStore, origin: origin(pc, AccessKind::AtomicStore, size) };
    engine().model.hold_store(&access, until)
}

/// How much later a thread begins to run that would at `time`, as it was woken or is new.
pub fn late(fiber: usize, time: Ticks) -> Ticks {
    if !on() {
        return 0;
    }
    let p = perturb();
    let spared = p.tick == 0 && (p.budget == 0 || p.coin());
    let late = match p.tick {
        _ if spared => 0,
        0 => p.length(),
        tick => time.next_multiple_of((1 << tick) * TICKS_PER_CYCLE) - time + p.random.next() % ticks(LEEWAY),
    };
    p.held_up += late;
    if late > 0 {
        p.remember(Holding::Wake, fiber, engine().fibers[fiber].blocked_at, time, late);
    }
    late
}

fn step(weight: u64, pc: u64) {
    let p = perturb();
    if hot!().clock >= p.look_around {
        look_around(pc);
    }
    if current().spins.spinning() {
        // A waiting thread loses nothing by waiting longer.
        return;
    }
    if p.left > weight {
        p.left -= weight;
        return;
    }
    p.left = p.next_gap();
    if p.budget == 0 || p.spares(engine().sched.fiber) {
        return;
    }
    p.budget -= 1;
    if !engine().sched.cpus[engine().sched.cpu].ready.is_empty() && p.coin() {
        p.remember(Holding::Preempted, engine().sched.fiber, pc, hot!().clock, 0);
        sched::give_way(usize::MAX);
        return sched::set_limit();
    }
    let length = p.length();
    p.remember(Holding::Access, engine().sched.fiber, pc, hot!().clock, length);
    hold_up(length);
}

/// The running CPU is busy with something else for a while; its thread waits, and others continue.
fn hold_up(length: Ticks) {
    let e = engine();
    let (cpu, clock) = (e.sched.cpu, hot!().clock);
    e.perturb.held_up += length;
    current().goes_away(clock);
    hot!().clock = clock + length;
    current().comes_back(cpu, clock + length);
    e.sched.cpus[cpu].next_sample += length;
    e.sched.cpus[cpu].counted += length;
    sched::sync();
}

/// Ends a run without progress; the running thread is at `pc`.
pub fn look_around(pc: u64) {
    let (clock, p) = (hot!().clock, perturb());
    if clock.saturating_sub(p.held_up) > p.most {
        crash::livelock(pc, false);
    }
    if !on() && clock < p.look_around {
        return;
    }
    p.look_around = clock + ticks(LOOK_AROUND);
    if !all_look() {
        p.looking_since = clock;
    }
    let long = engine().launch.machine.clock_hz / LOOK_FOR * TICKS_PER_CYCLE;
    if clock.saturating_sub(p.looking_since) > long && all_had_a_turn(p.looking_since) {
        crash::livelock(pc, true);
    }
}

/// The running thread has written something, or has woken another: between two looks around, that may have been all.
#[inline]
pub fn worked() {
    let p = perturb();
    p.looking_since = p.looking_since.max(hot!().clock);
}

/// Has every thread that waits for a CPU looked since, and found that it has to go on looking?
fn all_had_a_turn(since: Ticks) -> bool {
    let looked = |f: &Fiber| f.state != State::Ready || f.off_cpu_since > since + f.spins.period();
    engine().fibers.iter().all(|fiber| looked(fiber))
}

/// All threads only poll memory, and no outside input or timer is due. Without a seed the run is to end as it would
/// natively: then only a loop counts that cannot end by itself, as no register changes in it.
fn all_look() -> bool {
    let e = engine();
    let guesses = on() || e.launch.explores;
    let spins = |f: &Fiber| if guesses { f.spins.spinning() } else { f.spins.goes_on() };
    let looks = |f: &Fiber| match f.state {
        State::Running | State::Ready => spins(f),
        State::Blocked => !matches!(f.wait, Wait::Io { .. } | Wait::Sleep | Wait::Retry { .. }),
        State::Finished => true,
    };
    !e.sched.has_timers() && e.fibers.iter().all(|fiber| looks(fiber)) && (guesses || !signals::may_come_from_outside())
}
