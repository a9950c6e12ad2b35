// SPDX-License-Identifier: MIT OR Apache-2.0
//! An out-of-order core in small: instructions issue in order, `width` a cycle, start when their operands
//! are there, and retire in order from a buffer of limited length. Those that wait for operands fill a
//! scheduler of limited length. Execution units are without limit but for the divider.
use crate::Core;
use crate::op::{Op, TICKS};
use crate::path::Path;
use crate::set::{PLACES, Set};
use crate::values::Address;
use crate::walk::Step;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Size of the reorder buffer where the profile does not give it: Skylake's.
const REORDER: usize = 224;
/// Iterations of a loop are simulated until about this many instructions have run.
const LOOP_OPS: usize = 240;

pub fn sixteenths(ticks: u64) -> u32 {
    (ticks * 16).div_ceil(TICKS) as u32
}

/// Time from the first issue to the last result.
pub fn run<'a>(ops: impl Iterator<Item = &'a Op>, core: &Core) -> u64 {
    let mut pipeline = Pipeline::new(core);
    ops.for_each(|op| pipeline.step(op));
    pipeline.retired
}

/// The least time of an iteration with so many taken branches. A core issues a small loop with only one from the loop
/// buffer, and then takes that branch each cycle.
pub fn taking(branches: u64, core: &Core) -> u64 {
    TICKS * if branches == 1 { 1 } else { branches * u64::from(core.taken_branch) }
}

/// A loop in its steady state.
pub struct Steady {
    /// Time of an iteration, without what the model adds.
    pub ticks: u64,
    /// Latency along the chain of instructions that each waited for the one before, and of that the
    /// part of the instructions asked for.
    pub chain: u64,
    pub own: u64,
    /// It has operations whose latency the model adds.
    pub modelled: bool,
}

/// Rounds of the loop `steps` that fill the reorder buffer, and as many again.
pub fn rounds_in_sight(steps: &[Step], core: &Core) -> u64 {
    let issued = Path::hooked(steps, core).ops.iter().filter(|op| op.timing.slots > 0).count();
    (reorder(core) * 2).div_ceil(issued.max(1)) as u64
}

/// Time of a round of a loop that has an inner one, less what the model adds, and what its issue slots alone take.
/// The inner loop goes `rounds` times round in each: so often `inner`, and `outer` from there to the next first one.
pub fn nested(inner: &[Step], rounds: u64, outer: &[Step], core: &Core) -> (u64, u64) {
    let once: Vec<&Step> = core::iter::repeat_n(inner, rounds as usize).flatten().chain(outer).collect();
    let times = (reorder(core) * 4 / once.len().max(1)).clamp(4, 64) & !1;
    let mut path = Path::hooked(core::iter::repeat_n(&once, times).flatten().copied(), core);
    let left_out = left_out(inner, core);
    path.ops.iter_mut().filter(|op| left_out.contains(&op.instruction.ip())).for_each(Op::leave_out);
    let flat = path.flat_ticks(core) / times as u64;
    (halves(&path, times, core).1, flat)
}

/// What the loop `inner` does only for hooks, by address. Seen from the loop around it, its counters are set to
/// anything, and no longer stand for each other.
fn left_out(inner: &[Step], core: &Core) -> Vec<u64> {
    const ROUNDS: usize = 4;
    let alone = Path::hooked(core::iter::repeat_n(inner, ROUNDS).flatten(), core);
    let issues = |ip| alone.ops.iter().filter(|op| op.instruction.ip() == ip && op.timing.slots > 0).count();
    inner.iter().map(Step::ip).filter(|&ip| issues(ip) < ROUNDS - 1).collect()
}

/// The pipeline after `rounds` rounds, and the time of one of the second half of them, less what the model adds.
fn halves(path: &Path, rounds: usize, core: &Core) -> (Pipeline, u64) {
    let half = path.ops.len() / 2;
    let mut pipeline = Pipeline::new(core);
    path.ops[..half].iter().for_each(|op| pipeline.step(op));
    let middle = pipeline.retired;
    path.ops[half..].iter().for_each(|op| pipeline.step(op));
    let ticks = (pipeline.retired - middle).saturating_sub(modelled(&path.ops[half..]));
    (pipeline, ticks * 2 / rounds as u64)
}

fn modelled(ops: &[Op]) -> u64 {
    ops.iter().map(|op| u64::from(op.modelled) * TICKS).sum()
}

/// Runs rounds of the loop `steps`; `owns` tells by address the instructions whose part is wanted.
pub fn steady(steps: &[Step], owns: impl Fn(u64) -> bool, core: &Core) -> Steady {
    let rounds = (LOOP_OPS / steps.len().max(1)).clamp(4, 64) & !1;
    let path = Path::hooked(core::iter::repeat_n(steps, rounds).flatten(), core);
    let (pipeline, ticks) = halves(&path, rounds, core);
    let links = pipeline.chain().map(|(at, ticks)| {
        let op = &path.ops[at];
        (owns(op.instruction.ip()), ticks.saturating_sub(u64::from(op.modelled) * TICKS))
    });
    let (chain, own) =
        links.fold((0, 0), |(all, own), (is_own, ticks)| (all + ticks, own + if is_own { ticks } else { 0 }));
    Steady { ticks, chain, own, modelled: modelled(&path.ops) > 0 }
}

/// When a result is there, and which operation gives it; none for what was there from the start.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Ready {
    at: u64,
    by: Option<usize>,
}

struct Pipeline {
    issued: u64,
    slot: u64,
    retired: u64,
    divider: Ready,
    /// When the last result so far is there.
    last: Ready,
    places: [Ready; PLACES],
    /// When a load of a word that was written here can have its value at the earliest.
    written: BTreeMap<Address, Ready>,
    core: Core,
    /// When each operation was done, and the one it waited for last.
    done: Vec<(u64, Option<usize>)>,
    /// How many operations have entered the reorder buffer: what was left out does not. When each retired, in a ring.
    entered: usize,
    reorder: Vec<u64>,
    /// When those that wait for operands start.
    waiting: BinaryHeap<Reverse<u64>>,
}

/// How many instructions the core's reorder buffer holds.
fn reorder(core: &Core) -> usize {
    if core.window == 0 { REORDER } else { (core.window * core.width) as usize }
}

impl Pipeline {
    fn new(core: &Core) -> Pipeline {
        Pipeline {
            issued: 0,
            slot: TICKS / u64::from(core.width),
            retired: 0,
            divider: Ready::default(),
            last: Ready::default(),
            places: [Ready::default(); PLACES],
            written: BTreeMap::new(),
            core: *core,
            done: Vec::new(),
            entered: 0,
            reorder: alloc::vec![0; reorder(core)],
            waiting: BinaryHeap::new(),
        }
    }

    fn step(&mut self, op: &Op) {
        let issue = self.issue(op);
        let start = self.start(op, issue);
        self.wait(op, issue, start.at);
        let own = if op.orders { u64::from(op.timing.serial) } else { 0 };
        let latency = own + u64::from(op.timing.latency) + u64::from(op.modelled);
        let ready = Ready { at: start.at + latency * TICKS, by: Some(self.done.len()) };
        self.last = self.last.max(ready);
        for place in op.writes.iter() {
            self.places[usize::from(place)] = ready;
        }
        if let Some(address) = op.store.or(op.locked) {
            let handing_on = match op.locked {
                Some(_) => self.core.reload,
                None if address.is_direct() => self.core.renamed,
                None if address.is_indexed() => self.core.renamed_indexed,
                None => self.core.forward,
            };
            self.written.insert(address, Ready { at: ready.at + u64::from(handing_on) * TICKS, ..ready });
        }
        self.retired = self.retired.max(ready.at);
        if op.timing.slots > 0 {
            let place = self.entered % self.reorder.len();
            self.reorder[place] = self.retired;
            self.entered += 1;
        }
        self.done.push((ready.at, start.by));
    }

    /// Takes the issue slots of `op`. Copies and what was left out take none.
    fn issue(&mut self, op: &Op) -> u64 {
        self.issued = self.issued.max(self.reorder[self.entered % self.reorder.len()]);
        while self.waiting.len() >= self.core.scheduler.max(1) as usize {
            let Reverse(started) = self.waiting.pop().unwrap_or(Reverse(0));
            self.issued = self.issued.max(started);
        }
        let serial = if op.orders { 0 } else { u64::from(op.timing.serial) };
        self.issued += u64::from(op.timing.slots) * self.slot + serial * TICKS;
        self.issued
    }

    /// Keeps places of the scheduler for `op` until its parts start.
    fn wait(&mut self, op: &Op, issue: u64, start: u64) {
        let loads = op.load.map(|_| self.latest(op.address, issue).at);
        let computes = (op.load.is_none() || op.timing.latency > 0).then_some(start);
        let waits = |at: &u64| op.timing.slots > 0 && *at > issue;
        self.waiting.extend(loads.into_iter().chain(computes).filter(waits).map(Reverse));
    }

    /// When the last of what `op` waits for is there, and what that is.
    fn start(&mut self, op: &Op, issue: u64) -> Ready {
        let mut start = self.latest(op.reads.union(op.handed), issue);
        if op.orders {
            start = start.max(self.last);
        }
        if let Some(address) = op.load {
            let mut loaded = self.latest(op.address, issue);
            loaded.at += u64::from(self.core.load) * TICKS;
            let written = self.written.get(&address).copied().unwrap_or_default();
            start = start.max(loaded).max(written);
        }
        if op.timing.divider > 0 {
            start = start.max(self.divider);
            let free = start.at + u64::from(op.timing.divider) * TICKS;
            self.divider = Ready { at: free, by: Some(self.done.len()) };
        }
        start
    }

    fn latest(&self, set: Set, issue: u64) -> Ready {
        let ready = set.iter().map(|place| self.places[usize::from(place)]);
        ready.fold(Ready { at: issue, by: None }, Ready::max)
    }

    /// The operations that the last result hung on, backwards, each with what it added.
    fn chain(&self) -> impl Iterator<Item = (usize, u64)> {
        let last = (0..self.done.len()).rev().max_by_key(|&at| self.done[at].0);
        let waits = |&at: &usize| self.done[at].1;
        core::iter::successors(last, waits).map(move |at| {
            let (done, before) = self.done[at];
            (at, done.saturating_sub(before.map_or(done, |before| self.done[before].0)))
        })
    }
}
