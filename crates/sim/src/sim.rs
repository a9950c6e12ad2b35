// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated machine, and which CPU runs next.
//!
//! Every CPU that has something to run has a clock; the CPU with the smallest clock runs. The running one may get ahead of
//! the others by the slack while it does what no other CPU can observe, and by the model's lookahead on lines that it
//! holds; before anything else that others can observe, the CPUs that are behind run first ([`Sim::next`]).
use crate::delays::Delays;
use crate::event::{Effects, Retry, Wait};
use crate::place::Place;
use crate::runtime::Fair;
use crate::{Clocks, Cpu, Futexes, Lease, Memory, Runtime, SpinSkips, StoreBuffers, Tags, Timers, Wakes};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use corefold_model::{Access, Machine, Model, Tag, Ticks, ticks};

/// Cycles of one CPU that are counted for the predictor's checks at once. Not with the samples: how often those are taken
/// must change nothing but the profile.
const COUNTED_AT_ONCE: Ticks = ticks(10_000);

/// How a machine is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// CPUs that take part, the first of the machine.
    pub cpus: u32,
    /// Cycles that a CPU may be ahead of others while it does what none can observe.
    pub slack: u32,
    /// No run-ahead on lines, and no skipping of spins.
    pub step_by_step: bool,
    /// Of the schedule. But for 0, the plain one, every access is an event, so that a delay may come between any two.
    pub seed: u64,
    /// For one who walks through all orders: a store takes effect when it is told to
    /// ([`StoreBuffers::commit_first_of`]), which must be before a fence or a locked operation of its CPU. CPUs run in the
    /// order of [`Sim::switch`], as long as none is in [`Sim::clocks`].
    pub by_hand: bool,
}

impl Options {
    /// The plain schedule of so many CPUs, in the order of their clocks.
    pub fn new(cpus: u32) -> Options {
        Options { cpus, slack: 0, step_by_step: false, seed: 0, by_hand: false }
    }
}

/// Who runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The CPU that runs already.
    Same,
    /// This one, from this time on.
    Of(usize, Ticks),
    /// A timer is due first. The CPU that ran waits for its turn.
    Timer,
}

pub struct Sim {
    pub model: Model,
    pub stores: StoreBuffers,
    pub cpus: Vec<Cpu>,
    /// The running CPU.
    pub cpu: usize,
    /// CPUs that have a thread to run, except the running one.
    pub clocks: Clocks,
    pub timers: Timers,
    /// Of each thread, by its number.
    pub threads: Vec<Runtime>,
    pub wakes: Wakes,
    pub futexes: Futexes,
    pub(crate) fair: Fair,
    pub skips: SpinSkips,
    /// Of a seed's schedule; none: the plain one.
    pub delays: Option<Delays>,
    /// What effects say is to be taken.
    pub(crate) waits: VecDeque<Wait>,
    pub(crate) retries: VecDeque<Retry>,
    /// The clock at which the running CPU has something to do besides sampling.
    looks_up: Ticks,
    /// When a sibling of the running CPU begins or ends to run something, as far as is known.
    sibling_changes: Ticks,
    slack: Ticks,
    lookahead: Ticks,
    pub(crate) step_by_step: bool,
    pub(crate) line_bytes: u64,
    /// What full fences take with nothing to drain: `mfence`, and a locked operation.
    pub(crate) fence: Ticks,
    pub(crate) locked_fence: Ticks,
    pub(crate) context_switch: Ticks,
}

/// The CPUs of a run, each with the next one of its core.
fn cpus(machine: &Machine, options: &Options) -> Vec<Cpu> {
    let same = |cpu: u32, other: u32| machine.core_of(other) == machine.core_of(cpu);
    let beside = |cpu: u32| (cpu + 1..options.cpus).chain(0..=cpu).find(|other| same(cpu, *other)).unwrap_or(cpu);
    (0..options.cpus)
        .map(|cpu| Cpu::new(cpu, beside(cpu) as usize, Place::of(machine, cpu), options.seed != 0))
        .collect()
}

impl Sim {
    pub fn new(machine: &Machine, options: Options) -> Sim {
        let model = Model::new(machine, ticks(options.slack));
        let mut stores = StoreBuffers::new(options.cpus, machine.core.store_buffer);
        if options.by_hand {
            stores.commit_by_hand();
        }
        Sim {
            stores,
            cpus: cpus(machine, &options),
            cpu: 0,
            clocks: Clocks::default(),
            timers: Timers::default(),
            threads: Vec::new(),
            wakes: Wakes::new(machine),
            futexes: Futexes::default(),
            fair: Fair::new(machine),
            skips: SpinSkips::new(options.cpus),
            delays: (options.seed != 0).then(|| Delays::new(options.seed, machine.system.timeslice)),
            waits: VecDeque::new(),
            retries: VecDeque::new(),
            fence: ticks(machine.core.fence),
            locked_fence: ticks(machine.core.rmw),
            context_switch: ticks(machine.system.context_switch),
            looks_up: 0,
            sibling_changes: Ticks::MAX,
            slack: ticks(options.slack),
            lookahead: if options.step_by_step { 0 } else { model.lookahead() },
            step_by_step: options.step_by_step,
            line_bytes: u64::from(machine.line_bytes),
            model,
        }
    }

    /// The first byte of the line that `address` lies on.
    #[inline]
    pub fn line_start(&self, address: u64) -> u64 {
        address & !(self.line_bytes - 1)
    }

    /// The smallest clock among the other CPUs.
    #[inline]
    pub fn others(&self) -> Ticks {
        self.clocks.smallest()
    }

    /// The clock of any CPU; that of the running one is the lease's.
    pub fn clock_of(&self, cpu: usize, running: Ticks) -> Ticks {
        if cpu == self.cpu { running } else { self.skips.since(cpu).unwrap_or(self.cpus[cpu].clock) }
    }

    /// The latest clock of any CPU.
    pub fn latest_clock(&self, running: Ticks) -> Ticks {
        (0..self.cpus.len()).map(|cpu| self.clock_of(cpu, running)).max().unwrap_or(0)
    }

    /// Who runs next, as the running CPU is at `clock` and is about to do what others can observe.
    #[inline]
    pub fn next(&mut self, clock: Ticks) -> Turn {
        if self.is_last(clock) {
            return Turn::Same;
        }
        self.cpus[self.cpu].clock = clock;
        if self.timers.next() <= clock {
            self.clocks.push(clock, self.cpu as u32);
            return Turn::Timer;
        }
        let (clock, cpu) = self.clocks.exchange(clock, self.cpu as u32);
        Turn::Of(cpu as usize, clock)
    }

    /// `cpu` is the running one from now on, at `clock`.
    #[inline]
    pub fn run(&mut self, cpu: usize, clock: Ticks, lease: &Lease) {
        self.cpu = cpu;
        lease.clock.set(clock);
        self.use_tags(lease);
    }

    /// The same where nothing else keeps memory from changing: it shows the CPU's view, and stores that are due commit.
    pub fn switch<W: Memory + Tags>(&mut self, lease: &Lease, world: &mut W, cpu: usize, clock: Ticks) -> Effects {
        self.run(cpu, clock, lease);
        self.stores.change_view(world, cpu as u32);
        let effects = self.commit_until(world, clock);
        self.set_limit(lease, false);
        effects
    }

    /// The lease's tags are those of the running CPU.
    #[inline]
    pub fn use_tags(&self, lease: &Lease) {
        lease.set_tags(self.cpus[self.cpu].tags);
    }

    /// Makes every plain read of the running CPU an event, or not any more.
    pub fn show_reads(&mut self, all: bool, lease: &Lease) {
        lease.show_reads(all, self.cpu as u32, &mut self.cpus[self.cpu].tags);
    }

    /// Makes every plain store of the running CPU an event, or not any more.
    pub fn show_stores(&mut self, all: bool, lease: &Lease) {
        lease.show_stores(all, self.cpu as u32, &mut self.cpus[self.cpu].tags);
    }

    /// No other CPU and no timer is behind the running CPU.
    #[inline]
    pub fn is_last(&self, clock: Ticks) -> bool {
        self.others() > clock && self.timers.next() > clock
    }

    /// May the running CPU make this access now, though other CPUs are behind it? Only if none of them can still change what
    /// it finds, or see too early what it writes. Others act at the smallest clock or later, so these must hold:
    /// - no other core gets the line before now: one that asks at the smallest clock gets it a lookahead later;
    /// - the core has the line since before the smallest clock ([`Model::holds`]);
    /// - no store that waits is due by now: it takes effect first;
    /// - no other hardware thread of the CPU's own core is behind: it has the line as well, and need not ask.
    #[inline]
    pub(crate) fn may_run_ahead(&mut self, tag: Tag, access: &Access, clock: Ticks) -> bool {
        let others = self.others();
        others.saturating_add(self.lookahead) > clock
            && self.timers.next() > clock
            && !self.stores.is_due(clock)
            && !access.kind.writes()
            && self.siblings_are_ahead(clock)
            && self.model.holds(tag, access, others, clock)
    }

    /// May the running CPU do what other CPUs cannot observe?
    #[inline]
    pub fn within_slack(&self, clock: Ticks) -> bool {
        self.others().saturating_add(self.slack) > clock
    }

    /// Is another CPU, or a timer, behind the running CPU by more than the slack?
    #[inline]
    pub fn too_far_ahead(&self, clock: Ticks) -> bool {
        self.others().min(self.timers.next()).saturating_add(self.slack) <= clock
    }

    /// Up to when stores have taken effect that the running CPU may see: one that is ahead of others must not show them what
    /// comes later. It has the lines that it runs ahead on, so no store to them is due.
    #[inline]
    pub fn shown(&self, clock: Ticks) -> Ticks {
        clock.min(self.others())
    }

    /// The other hardware threads of the CPU's core.
    pub fn siblings(&self, cpu: usize) -> impl Iterator<Item = usize> {
        let next = |c: &usize| Some(self.cpus[*c].beside);
        core::iter::successors(next(&cpu), next).take_while(move |c| *c != cpu)
    }

    pub fn sibling_busy(&self, cpu: usize) -> bool {
        self.siblings(cpu).any(|c| self.cpus[c].thread.is_some())
    }

    /// No other hardware thread of the running CPU's core is behind `clock`, or would be if another CPU's store ended
    /// its spin.
    pub(crate) fn siblings_are_ahead(&self, clock: Ticks) -> bool {
        let behind = |c: usize| self.cpus[c].thread.is_some() && self.clock_of(c, clock) <= clock;
        !self.siblings(self.cpu).any(behind)
    }

    /// Whether a sibling of the running CPU runs something at `clock`, and the next time at which it is known to change.
    fn beside(&self, clock: Ticks) -> (bool, Ticks) {
        let (mut busy, mut change) = (false, Ticks::MAX);
        for c in self.siblings(self.cpu) {
            let c = &self.cpus[c];
            let ends = if c.thread.is_some() { Ticks::MAX } else { c.clock };
            let (begun, ended, before) = (c.busy_from <= clock, ends <= clock, clock < c.busy_until);
            busy |= before || begun && !ended;
            let next = [(before, c.busy_until), (!begun, c.busy_from), (!ended, ends)];
            change = next.into_iter().filter(|(comes, _)| *comes).map(|(_, at)| at).fold(change, Ticks::min);
        }
        (busy, change)
    }

    /// The next time at which a sibling of the running CPU is known to begin or end to run something.
    #[inline]
    pub fn sibling_changes(&self) -> Ticks {
        self.sibling_changes
    }

    /// Recomputes when the running thread's next event is due, which is at once if that is `urgent`.
    pub fn set_limit(&mut self, lease: &Lease, urgent: bool) {
        let (busy, change) = self.beside(lease.clock.get());
        lease.beside_busy(busy);
        self.sibling_changes = change;
        let cpu = &self.cpus[self.cpu];
        let ahead = self.others().min(self.timers.next()).saturating_add(self.slack);
        let due = ahead.min(change).min(cpu.counted + COUNTED_AT_ONCE).min(cpu.turn_ends());
        self.looks_up = if urgent { 0 } else { due };
        self.sampled(lease);
    }

    /// A sample was taken: the next one may be due before anything else. While the core is ahead, each block is an event:
    /// how many instructions fit into its reorder buffer is not seen from their time.
    pub fn sampled(&self, lease: &Lease) {
        let cpu = &self.cpus[self.cpu];
        let due = if cpu.run_ahead.is_ahead() { 0 } else { self.looks_up.min(cpu.next_sample) };
        lease.extend(due);
    }

    /// Is more than a sample due?
    pub fn is_due(&self, clock: Ticks) -> bool {
        clock >= self.looks_up
    }

    /// Cycles of the running CPU that were not counted yet, once they are enough.
    pub fn take_counted(&mut self, clock: Ticks) -> Option<Ticks> {
        let cpu = &mut self.cpus[self.cpu];
        let passed = clock.saturating_sub(cpu.counted);
        (passed >= COUNTED_AT_ONCE).then(|| {
            cpu.counted += passed;
            passed
        })
    }
}

#[cfg(test)]
mod tests;
