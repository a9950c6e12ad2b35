// SPDX-License-Identifier: MIT OR Apache-2.0
//! A front end without a program: each CPU does a list of operations, over a memory that is a map.
#![allow(dead_code)]
pub mod in_time;
mod machine;
pub mod program;
pub mod schedule;
pub mod tso;
pub mod walker;

use Op::*;
use corefold_model::{Tag, Ticks, ticks};
use corefold_sim::{Effects, Event, Lease, Memory, Options, Sim, Tags, Turn, What};
pub use machine::machine;
pub use program::{Bytes, Op};
use std::cell::Cell;
use std::collections::HashMap;

/// Memory by byte, and the tags of lines.
#[derive(Default)]
pub struct World {
    bytes: HashMap<u64, u8>,
    tags: HashMap<u64, Cell<Tag>>,
}

impl Memory for World {
    fn read(&self, address: u64, size: u8) -> u64 {
        let byte = |at: u8| u64::from(*self.bytes.get(&(address + u64::from(at))).unwrap_or(&0));
        (0..size).map(|at| byte(at) << (8 * at)).sum()
    }
    fn write(&mut self, address: u64, size: u8, value: u64) {
        self.bytes.extend((0..size).map(|at| (address + u64::from(at), (value >> (8 * at)) as u8)));
    }
}

impl Tags for World {
    fn tag(&mut self, address: u64) -> &Cell<Tag> {
        self.tags.entry(address / 64).or_insert(Cell::new(Tag::UNTOUCHED))
    }
}

const LONGEST_SKIP: Ticks = ticks(10_000);

/// What the CPUs did, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// By CPU, in the order of its operations.
    pub found: Vec<Vec<u64>>,
    /// By CPU: its clock after each operation.
    pub times: Vec<Vec<Ticks>>,
}

struct Thread {
    ops: Vec<Op>,
    at: usize,
    /// Others ran in the midst of it.
    event: Option<Event>,
    /// It has asked for a line.
    asked: bool,
    /// Of the word that it awaits: the last value and when that was read, and reads since that were one period apart.
    last: (u64, Ticks),
    same: u32,
    skipping: bool,
}

/// Runs the lists, each on the CPU of its number; an empty one leaves its CPU idle.
pub fn run(options: Options, lists: &[Vec<Op>]) -> Results {
    let mut lab = Lab::new(options, lists);
    while lab.step() {}
    lab.results
}

pub struct Lab {
    pub sim: Sim,
    pub lease: Lease,
    pub world: World,
    threads: Vec<Thread>,
    pub results: Results,
    /// By CPU: which operations asked for a line.
    pub asked: Vec<Vec<bool>>,
    /// Plain accesses that the lease covers are no events.
    pub inline: bool,
    /// A spin is skipped after so many reads that found the same; 0: never.
    pub skips_after: u32,
    pub skipped: Ticks,
}

impl Lab {
    pub fn new(options: Options, lists: &[Vec<Op>]) -> Lab {
        let thread = |ops: &Vec<Op>| Thread {
            ops: ops.clone(),
            at: 0,
            event: None,
            asked: false,
            last: (0, 0),
            same: 0,
            skipping: false,
        };
        let mut lab = Lab {
            sim: Sim::new(&machine(), options),
            lease: Lease::default(),
            world: World::default(),
            threads: lists.iter().map(thread).collect(),
            results: Results { found: vec![vec![]; lists.len()], times: vec![vec![]; lists.len()] },
            asked: vec![vec![]; lists.len()],
            inline: false,
            skips_after: 0,
            skipped: 0,
        };
        for (cpu, list) in lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            lab.sim.cpus[cpu].thread = Some(cpu);
            lab.sim.cpus[cpu].next_sample = Ticks::MAX;
            if !options.by_hand {
                lab.sim.clocks.push(0, cpu as u32);
            }
            assert!(list.len() < 1000);
        }
        if let Some((clock, cpu)) = lab.sim.clocks.pop() {
            lab.switch(cpu as usize, clock);
        }
        lab
    }

    fn switch(&mut self, cpu: usize, clock: Ticks) {
        self.sim.switch(&self.lease, &mut self.world, cpu, clock);
        self.drop_accounts();
    }

    fn drop_accounts(&mut self) {
        while self.sim.take_wait().is_some() {}
        while self.sim.take_retry().is_some() {}
    }

    /// The running CPU does the next part of its list. False: all have done theirs.
    pub fn step(&mut self) -> bool {
        let cpu = self.sim.cpu;
        if self.threads[cpu].skipping {
            self.threads[cpu].skipping = false;
            let skipped = self.sim.end_skip(cpu, self.lease.clock.get()).expect("it skips");
            self.skipped += skipped.time;
        }
        if self.threads[cpu].at == self.threads[cpu].ops.len() {
            return self.leave();
        }
        let over = self.go_on(cpu);
        let turn = if over && !self.sim.too_far_ahead(self.lease.clock.get()) && !self.threads[cpu].skipping {
            Turn::Same
        } else {
            self.sim.next(self.lease.clock.get())
        };
        if let Turn::Of(cpu, clock) = turn {
            self.switch(cpu, clock);
        }
        true
    }

    /// The CPU has nothing more to do.
    fn leave(&mut self) -> bool {
        let cpu = self.sim.cpu;
        self.sim.cpus[cpu].thread = None;
        self.sim.cpus[cpu].clock = self.lease.clock.get();
        match self.sim.clocks.pop() {
            Some((clock, cpu)) => self.switch(cpu as usize, clock),
            None => {
                self.sim.commit_until(&mut self.world, Ticks::MAX);
                return false;
            }
        }
        true
    }

    /// These words, when all stores have committed.
    pub fn read(&self, words: &[u64]) -> Vec<u64> {
        words.iter().map(|address| self.world.read(*address, 8)).collect()
    }

    /// Returns whether its operation is over.
    pub fn go_on(&mut self, cpu: usize) -> bool {
        let op = self.threads[cpu].ops[self.threads[cpu].at];
        if let Compute(cycles) = op {
            self.lease.spend(ticks(cycles));
            self.catch_up(cpu);
            return self.over(cpu, None);
        }
        if self.inline && self.threads[cpu].event.is_none() && self.is_leased(op) {
            let found = self.carry_out(op);
            return self.over(cpu, found);
        }
        let mut event = self.threads[cpu].event.take().unwrap_or_else(|| self.begin(cpu, op));
        let effects = self.sim.event(&self.lease, &mut self.world, &mut event);
        self.drop_accounts();
        self.threads[cpu].asked |= effects.has(Effects::ACCESSED) && effects.outcome.transfer.is_some();
        if effects.has(Effects::OTHERS) {
            self.threads[cpu].event = Some(event);
            return false;
        }
        if let Await(_, value, cycles) = op
            && effects.value != value
        {
            return self.again(cpu, op, cycles, effects.value);
        }
        let carried_out = self.carry_out(op);
        let found = if effects.has(Effects::VALUE) { Some(effects.value) } else { carried_out };
        self.over(cpu, found.filter(|_| !matches!(op, Store(..) | AtomicStore(..) | Fence)))
    }

    /// Does the lease let the program do this without an event?
    fn is_leased(&mut self, op: Op) -> bool {
        match op {
            Load(place) => self.lease.loads(self.world.tag(place.address).get()),
            Store(place, _) => self.lease.stores(self.world.tag(place.address).get()),
            _ => false,
        }
    }

    fn begin(&self, cpu: usize, op: Op) -> Event {
        let event = |what, place: Bytes| Event::new(what, cpu as u32, place.address, place.size.into(), 0);
        let mut begun = match op {
            Compute(_) => unreachable!("no event"),
            Load(place) => event(What::Load, place),
            AtomicLoad(place) | Await(place, ..) => event(What::AtomicLoad, place),
            Store(place, _) => event(What::Store, place),
            AtomicStore(place, value) => event(What::AtomicStore(value), place),
            Exchange(place, _) | Add(place, _) => event(What::Update, place),
            Fence => Event::fence(cpu as u32),
        };
        begun.may_be_old = matches!(op, Load(_));
        begun.awaited = self.threads[cpu].last.1 > 0;
        begun
    }

    /// What the program does itself, its event being over.
    fn carry_out(&mut self, op: Op) -> Option<u64> {
        let found = match op {
            Load(place) | Exchange(place, _) | Add(place, _) => Some(self.world.read(place.address, place.size)),
            _ => None,
        };
        match op {
            Store(place, value) | Exchange(place, value) => self.world.write(place.address, place.size, value),
            Add(place, value) => {
                self.world.write(place.address, place.size, value.wrapping_add(found.unwrap_or_default()))
            }
            _ => {}
        }
        found
    }

    /// Before other CPUs run by this clock, which must not go back: the part of the computation that was hidden behind a
    /// wait has taken no time, and loads that the CPU has run too far past are here.
    fn catch_up(&mut self, cpu: usize) {
        let run_ahead = &mut self.sim.cpus[cpu].run_ahead;
        self.lease.clock.set(self.sim.model.retire(cpu as u32, run_ahead.catch_up(self.lease.clock.get())));
        run_ahead.passed(self.lease.clock.get());
    }

    /// The awaited word has another value.
    fn again(&mut self, cpu: usize, op: Op, cycles: u32, value: u64) -> bool {
        let thread = &mut self.threads[cpu];
        let steady = thread.last == (value, self.lease.clock.get().saturating_sub(ticks(cycles)));
        thread.same = if steady { thread.same + 1 } else { 0 };
        thread.last = (value, self.lease.clock.get());
        if let Await(place, ..) = op
            && self.skips_after > 0
            && self.threads[cpu].same > self.skips_after
        {
            let mut lines = [corefold_sim::Watched::default(); corefold_sim::LOOKS];
            lines[0].line = self.sim.line_start(place.address);
            let spin = corefold_sim::Spin { period: ticks(cycles), lines, read: Default::default() };
            self.threads[cpu].skipping = self.sim.skip(&self.lease, &mut self.world, spin, LONGEST_SKIP);
        }
        if !self.threads[cpu].skipping {
            self.lease.spend(ticks(cycles));
        }
        true
    }

    fn over(&mut self, cpu: usize, result: Option<u64>) -> bool {
        self.results.found[cpu].extend(result);
        self.results.times[cpu].push(self.lease.clock.get());
        self.threads[cpu].at += 1;
        self.asked[cpu].push(std::mem::take(&mut self.threads[cpu].asked));
        (self.threads[cpu].same, self.threads[cpu].last) = (0, (0, 0));
        true
    }
}
