// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spin skip: a CPU that spins on an unchanging word repeats itself, so its iterations need not be simulated one
//! by one. Its clock is advanced by whole iterations of the loop, and set back when another CPU requests one
//! of the lines that the loop reads. So a thousand CPUs may wait for one without costing the host a thousand
//! times as much.
//!
//! A loop that counts its iterations has to be run: [`crate::hooks::spin`] calls a loop steady only if its
//! registers and stack are the same after an iteration as before it.
use crate::account::sample;
use crate::calls::signals;
use crate::engine::{current, engine};
use crate::hooks::hot::hot;
use crate::hooks::spin::{LOOKS, Watched};
use crate::hooks::store_buffer;
use crate::scheduling::{perturb, sched};
use alloc::vec;
use alloc::vec::Vec;
use corefold_model::Ticks;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

/// The first skip of a spin; each that follows is twice as long, up to [`DOUBLINGS`]. A write that no access shows
/// (by a system call, or through another mapping) may be seen that late.
const FIRST_NS: u64 = 5_000;
const DOUBLINGS: u32 = 5;
/// Skipping fewer iterations costs the host more than running them.
const FEWEST: u64 = 8;

/// A CPU that skips its spin: it last read the word at `since`, and would again every `period`.
#[derive(Clone, Copy)]
struct Doze {
    since: Ticks,
    period: Ticks,
    lines: [Watched; LOOKS],
    /// Lines that it reads beside them.
    read: [Watched; LOOKS],
    /// One of these was requested: its turns may be others from then on.
    disturbed: bool,
}

/// The CPUs that skip. Such a CPU's clock is that of its next read.
pub struct Dozes {
    cpus: Vec<Option<Doze>>,
    /// Lines that skipping CPUs watch, and how many CPUs watch each.
    watched: HashMap<u64, u32, FxBuildHasher>,
}

impl Dozes {
    pub fn new(cpus: u32) -> Self {
        Dozes { cpus: vec![None; cpus as usize], watched: HashMap::default() }
    }

    /// When the CPU last read the word, if it skips.
    pub fn since(&self, cpu: usize) -> Option<Ticks> {
        self.cpus[cpu].map(|doze| doze.since)
    }

    fn begin(&mut self, cpu: usize, doze: Doze) {
        self.cpus[cpu] = Some(doze);
        doze.watches().for_each(|watched| *self.watched.entry(watched.line).or_default() += 1);
    }

    fn end(&mut self, cpu: usize) -> Option<Doze> {
        let doze = self.cpus[cpu].take()?;
        for watched in doze.watches() {
            if let Entry::Occupied(mut count) = self.watched.entry(watched.line) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        Some(doze)
    }
}

/// The running fiber has just repeated its read: it begins to skip, if no store to the lines it watches is pending.
/// Returns whether it did; then it has to read again.
pub fn doze() -> bool {
    let e = engine();
    // With signals pending, it continues to where a handler may run.
    if e.launch.step_by_step || e.sched.signalled != 0 && signals::is_due() {
        return false;
    }
    let cpu = e.sched.cpu;
    let clock = hot!().clock;
    let spins = &e.fibers[e.sched.fiber].spins;
    let (lines, read) = (spins.lines(), spins.read());
    let doze = Doze { since: clock, period: spins.period(), lines, read, disturbed: false };
    let mut quiet = |line: u64| e.model.undisturbed(*crate::engine::tag_of(line), cpu as u32);
    // A store that is still in another CPU's store buffer would wake nobody when it commits.
    if !doze.watches().all(|w| quiet(w.line) && !store_buffer::any_on(w.line)) || !e.model.is_idle(cpu as u32) {
        return false;
    }
    let longest = clock + crate::calls::clock::ticks_of(FIRST_NS << spins.dozes().min(DOUBLINGS));
    let ends = longest.min(e.sched.cpus[cpu].turn_ends()).min(e.sched.sibling_changes());
    // A turn that begins then is no more.
    let turns = ends.saturating_sub(clock + 1) / spins.period().max(1);
    // An iteration that took no time was hidden behind a locked operation's wait: that ends.
    if turns < FEWEST || spins.period() == 0 {
        return false;
    }
    hot!().clock = clock + turns * doze.period;
    e.sched.dozes.begin(cpu, doze);
    sched::sync();
    end(cpu, hot!().clock);
    let place = current().spins.place();
    sample::take_due(place, sample::What::Stall);
    sched::set_limit();
    perturb::look_around(place);
    true
}

/// The CPU's skip, if any, ends at `clock`: accounts for it.
fn end(cpu: usize, clock: Ticks) {
    let e = engine();
    let Some(doze) = e.sched.dozes.end(cpu) else { return };
    let Some(fiber) = e.sched.cpus[cpu].fiber else { return };
    let fiber = &mut e.fibers[fiber];
    // Its next read is at `clock`, one iteration after the last that is accounted for here.
    let slept = clock.saturating_sub(doze.since).saturating_sub(doze.period);
    fiber.spins.dozed(slept);
    fiber.time.spin += slept;
    if doze.disturbed {
        fiber.spins.disturbed();
    }
}

impl Doze {
    fn watches(&self) -> impl Iterator<Item = Watched> {
        self.lines.into_iter().chain(self.read).filter(|watched| watched.line != 0)
    }

    /// The turn that makes the first read of `cpu`, `after` its begin, which is not over at `time`. Of CPUs with equal
    /// clocks the one with the smaller number goes first: if the running CPU has a greater one, a read at `time` is over.
    fn turn_with(&self, after: Ticks, cpu: usize, time: Ticks) -> Ticks {
        let over = if cpu < engine().sched.cpu { time + 1 } else { time };
        let turns = over.saturating_sub(self.since + after).div_ceil(self.period);
        self.since + turns.max(u64::from(after == 0)) * self.period
    }

    /// The turn that something changes in the midst of.
    fn turn_at(&self, time: Ticks) -> Ticks {
        self.since + time.saturating_sub(self.since) / self.period * self.period
    }
}

/// Another CPU requests the line at `address` at `time`: the CPUs that watch it read it again.
#[inline]
pub fn touched(address: u64, time: Ticks) {
    let watched = &engine().sched.dozes.watched;
    if !watched.is_empty() && watched.contains_key(&crate::engine::line_start(address)) {
        let line = crate::engine::line_start(address);
        for doze in engine().sched.dozes.cpus.iter_mut().flatten() {
            doze.disturbed |= doze.read.iter().any(|watched| watched.line == line);
        }
        rouse(|cpu, doze| {
            let these = doze.watches().filter(|watched| watched.line == line);
            these.map(|watched| doze.turn_with(watched.after, cpu, time)).min()
        });
    }
}

/// The CPU has something else to do at `time`.
pub fn disturbed(cpu: usize, time: Ticks) {
    if engine().sched.dozes.cpus[cpu].is_some() {
        rouse(|c, doze| (c == cpu).then(|| doze.turn_with(0, cpu, time)));
        end(cpu, engine().sched.cpus[cpu].clock);
    }
}

/// The CPU begins or ends to run something at `time`, in the midst of a turn of its siblings, which takes longer or less
/// than the last: they go on where that turn begins.
pub fn sibling_changes(cpu: usize, time: Ticks) {
    for sibling in engine().sched.siblings(cpu) {
        if engine().sched.dozes.cpus[sibling].is_some() {
            rouse(|c, doze| (c == sibling).then(|| doze.turn_at(time)));
        }
    }
}

/// Accounts are about to be made at `time`: all skips end.
pub fn all_awake(time: Ticks) {
    rouse(|cpu, doze| Some(doze.turn_with(0, cpu, time)));
    for cpu in 0..engine().sched.cpus.len() {
        end(cpu, engine().sched.cpus[cpu].clock);
    }
}

/// Of the CPUs that skip, those for which `when` gives a time go on then, if not sooner. Until then they may be roused sooner
/// still, by a CPU that is behind the one that rouses them now.
fn rouse(when: impl Fn(usize, &Doze) -> Option<Ticks>) {
    let s = &mut engine().sched;
    let mut roused: Vec<(u32, Ticks)> = Vec::new();
    for (cpu, (slot, doze)) in s.cpus.iter_mut().zip(&s.dozes.cpus).enumerate() {
        if let Some(look) = doze.and_then(|doze| when(cpu, &doze)).filter(|look| *look < slot.clock) {
            slot.clock = look;
            roused.push((cpu as u32, look));
        }
    }
    s.clocks.change(|cpu| roused.binary_search_by_key(&cpu, |(cpu, _)| *cpu).ok().map(|at| roused[at].1));
    sched::set_limit();
}
