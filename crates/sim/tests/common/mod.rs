// SPDX-License-Identifier: MIT OR Apache-2.0
//! A front end without a program: each CPU does a list of operations, over a memory that is a map.
#![allow(dead_code)]
pub mod in_time;
pub mod machine;
pub mod program;
pub mod random;
pub mod schedule;
pub mod tso;
pub mod walker;
mod world;

use Op::*;
use corefold_model::{Access, Kind, Machine, Ticks, ticks};
use corefold_sim::{Effects, Event, Lease, Memory, Options, Sim, Tags, Turn, What};
pub use machine::machine;
pub use program::{Bytes, Op};
pub use world::World;

const LONGEST_SKIP: Ticks = ticks(10_000);

/// What the CPUs did, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// By CPU, in the order of its operations.
    pub found: Vec<Vec<u64>>,
    /// By CPU: its clock after each operation.
    pub times: Vec<Vec<Ticks>>,
    /// By CPU: its clock when it had done all.
    pub ends: Vec<Ticks>,
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
    /// By CPU: which operations the lease has covered.
    pub leased: Vec<Vec<bool>>,
    /// Plain accesses that the lease covers, and computation up to its limit, are no events.
    inline: bool,
    /// The lease is made to cover nothing.
    no_lease: bool,
    pub refills: u32,
    /// The running CPU is at its limit: others run first, if they are behind.
    looks_up: bool,
    /// A spin is skipped after so many reads that found the same; 0: never.
    pub skips_after: u32,
    pub skipped: Ticks,
}

impl Lab {
    pub fn new(options: Options, lists: &[Vec<Op>]) -> Lab {
        Lab::on(&machine(), options, lists)
    }

    pub fn on(machine: &Machine, options: Options, lists: &[Vec<Op>]) -> Lab {
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
            sim: Sim::new(machine, options),
            lease: Lease::default(),
            world: World::default(),
            threads: lists.iter().map(thread).collect(),
            results: Results {
                found: vec![vec![]; lists.len()],
                times: vec![vec![]; lists.len()],
                ends: vec![0; lists.len()],
            },
            asked: vec![vec![]; lists.len()],
            leased: vec![vec![]; lists.len()],
            inline: false,
            no_lease: false,
            refills: 0,
            looks_up: false,
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
        self.take_lease();
    }

    /// The front end makes no event of what the lease covers. That may be nothing.
    pub fn use_leases(&mut self, of_length_zero: bool) {
        (self.inline, self.no_lease) = (true, of_length_zero);
        self.take_lease();
    }

    fn take_lease(&mut self) {
        if self.no_lease {
            self.sim.show_reads(true, &self.lease);
            self.sim.show_stores(true, &self.lease);
        }
        self.set_limit();
    }

    fn set_limit(&mut self) {
        self.sim.set_limit(&self.lease, self.no_lease);
    }

    /// Is the next block an event?
    fn is_at_limit(&self) -> bool {
        !self.inline || self.lease.is_over()
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
        let looks_up = std::mem::take(&mut self.looks_up) || !self.inline;
        let too_far = looks_up && self.sim.too_far_ahead(self.lease.clock.get());
        let turn = if over && !too_far && !self.threads[cpu].skipping {
            Turn::Same
        } else {
            self.sim.next(self.lease.clock.get())
        };
        match turn {
            Turn::Of(cpu, clock) => self.switch(cpu, clock),
            _ if looks_up => self.set_limit(),
            _ => {}
        }
        true
    }

    /// The CPU has nothing more to do.
    fn leave(&mut self) -> bool {
        let cpu = self.sim.cpu;
        self.catch_up(cpu);
        self.results.ends[cpu] = self.lease.clock.get();
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
            self.looks_up = self.is_at_limit();
            if self.looks_up {
                self.catch_up(cpu);
                self.sim.take_counted(self.lease.clock.get());
            }
            return self.over_without_event(cpu, None, !self.looks_up);
        }
        if self.inline && self.threads[cpu].event.is_none() {
            let leased = self.is_leased(op);
            if leased || self.is_refilled(cpu, op) {
                let found = self.carry_out(op);
                return self.over_without_event(cpu, found, leased);
            }
        }
        let mut event = self.threads[cpu].event.take().unwrap_or_else(|| self.begin(cpu, op));
        let effects = self.sim.event(&self.lease, &mut self.world, &mut event);
        self.drop_accounts();
        if effects.has(Effects::LIMIT) {
            self.set_limit();
        }
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
            Store(place, _) => {
                let tag = self.world.tag(place.address);
                self.lease.modifies_again(tag);
                self.lease.stores(tag.get())
            }
            _ => false,
        }
    }

    /// Serves, without [`Sim::event`], a plain access to a line of the CPU's own evicted from its first-level cache.
    fn is_refilled(&mut self, cpu: usize, op: Op) -> bool {
        let (place, kind) = match op {
            Load(place) => (place, Kind::Load),
            Store(place, _) => (place, Kind::Store),
            _ => return false,
        };
        let access = Access { cpu: cpu as u32, address: place.address, size: place.size.into(), kind, origin: 0 };
        let mut effects = Effects::default();
        let refilled = self.sim.refill(&self.lease, &mut self.world, &access, &mut effects);
        self.drop_accounts();
        self.refills += u32::from(refilled);
        refilled
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
            self.looks_up = self.is_at_limit();
        }
        true
    }

    fn over_without_event(&mut self, cpu: usize, result: Option<u64>, leased: bool) -> bool {
        self.over(cpu, result);
        *self.leased[cpu].last_mut().expect("it is over") = leased;
        true
    }

    fn over(&mut self, cpu: usize, result: Option<u64>) -> bool {
        self.results.found[cpu].extend(result);
        self.results.times[cpu].push(self.lease.clock.get());
        self.threads[cpu].at += 1;
        self.asked[cpu].push(std::mem::take(&mut self.threads[cpu].asked));
        self.leased[cpu].push(false);
        (self.threads[cpu].same, self.threads[cpu].last) = (0, (0, 0));
        true
    }
}
