// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of all caches, and what is asked of it beside accesses.
use crate::access::{Access, Kind};
use crate::bandwidth::Bandwidth;
use crate::caches::Caches;
use crate::costs::Costs;
use crate::cpu::{Blame, Cpu, Load, Room};
use crate::draws::Draws;
use crate::homes::Homes;
use crate::line::{Lines, NOBODY, When};
use crate::places::Places;
use crate::readers::Readers;
use crate::{Machine, Tag, Ticks};
use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Places for lines that were handed over; a power of two.
pub(crate) const HANDED: usize = 4096;

pub struct Model {
    /// The core of each CPU: a division for each access would be among its most expensive instructions.
    cores: Vec<u16>,
    pub(crate) places: Places,
    pub(crate) homes: Homes,
    pub(crate) caches: Caches,
    pub(crate) line_shift: u32,
    /// A miss brings the other line of a pair.
    pub(crate) pairs: bool,
    pub(crate) costs: Costs,
    pub(crate) lines: Lines,
    /// Records of lines that went back to being private, by line.
    pub(crate) demoted: HashMap<u64, u32, FxBuildHasher>,
    pub(crate) readers: Readers,
    /// The lines that last went from one CPU to another whole: those that do so twice get a record.
    pub(crate) handed: Vec<u64>,
    /// When the last locked operation of each core is over.
    locked_until: Vec<Ticks>,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) memory: Bandwidth,
    pub(crate) links: Bandwidth,
    pub(crate) draws: Draws,
    /// Requests that were queued at a home.
    pub(crate) requests: u64,
    /// From when until when the bus was last locked.
    bus: (Ticks, Ticks),
    /// By how much the clock of a CPU may be ahead of another's at a private line.
    pub(crate) slack: Ticks,
}

impl Model {
    /// `slack`: by how much the clock of a CPU may be ahead of another's at a private line.
    pub fn new(machine: &Machine, slack: Ticks) -> Self {
        let places = Places::new(machine);
        Model {
            caches: Caches::new(machine, places.clusters()),
            pairs: machine.core.adjacent_line && machine.line_bytes == 64,
            cores: (0..machine.placed()).map(|cpu| machine.core_of(cpu) as u16).collect(),
            places,
            memory: Bandwidth::new(machine, machine.memory_bandwidth),
            links: Bandwidth::new(machine, machine.link_bandwidth),
            homes: Homes::new(machine.home_counts(), machine.line_bytes.trailing_zeros()),
            line_shift: machine.line_bytes.trailing_zeros(),
            costs: Costs::of(machine),
            lines: Lines::new(machine.cores(), machine.cpus()),
            demoted: HashMap::default(),
            readers: Readers::new(machine.cores()),
            handed: vec![u64::MAX; HANDED],
            locked_until: alloc::vec![0; machine.cores() as usize],
            cpus: (0..machine.cpus()).map(|_| Cpu::new()).collect(),
            draws: Draws::default(),
            requests: 0,
            bus: (0, 0),
            slack,
        }
    }

    /// The time within which no other core can take a line from its owner: the request has to reach
    /// the home, and the snoop the owner. A CPU that only hits may run ahead by this and stay exact.
    pub fn lookahead(&self) -> Ticks {
        self.costs.soonest_loss().saturating_sub(self.costs.exposed)
    }

    /// The socket whose memory the address lies in: the first, if they make no difference; `None`: nothing touched its
    /// page.
    pub fn home(&self, address: u64) -> Option<u8> {
        if !self.homes.matter() {
            return Some(0);
        }
        Some(self.homes.of(address >> self.line_shift)).filter(|home| *home != crate::places::ANYWHERE)
    }

    /// A locked operation of `cpu` has its line at `now`: those of a core's hardware threads take turns. Returns when it begins. Calls
    /// for the CPUs of a core must come in order of `now`.
    #[inline]
    pub fn locked(&mut self, cpu: u32, now: Ticks) -> Ticks {
        let until = &mut self.locked_until[self.cores[cpu as usize] as usize];
        let begin = if self.costs.siblings_share { now.max(*until) } else { now };
        *until = begin + self.costs.rmw;
        begin
    }

    /// How far a core runs ahead of an unfinished access.
    pub fn window(&self) -> Ticks {
        self.costs.window
    }

    /// Loads of `cpu` under way, oldest first: an access whose address one of them delivers has to
    /// wait for it.
    #[inline]
    pub fn loads(&self, cpu: u32) -> impl Iterator<Item = &Load> {
        self.cpus[cpu as usize].loads()
    }

    /// May one of [`Model::loads`] deliver an address within a page of this one? To be asked after each of them with the
    /// means to read what it delivers.
    #[inline]
    pub fn may_deliver_near(&mut self, cpu: u32, address: u64, read: impl Fn(&Load) -> u64) -> bool {
        self.cpus[cpu as usize].may_deliver_near(address, read)
    }

    /// The CPU has no outstanding access.
    #[inline]
    pub fn is_idle(&self, cpu: u32) -> bool {
        self.cpus[cpu as usize].idle()
    }

    /// Completes the outstanding accesses of `cpu` that are done by `now`; returns the CPU's time after
    /// that.
    #[inline]
    pub fn retire(&mut self, cpu: u32, now: Ticks) -> Ticks {
        self.cpus[cpu as usize].retire(now, self.costs.window)
    }

    /// Retires all outstanding accesses of `cpu` if they are complete by `now` without a wait; says whether.
    #[inline]
    pub fn let_go(&mut self, cpu: u32, now: Ticks) -> bool {
        self.cpus[cpu as usize].let_go(now)
    }

    /// Drains the store buffer and waits for all loads: what a full fence or a system call does.
    pub fn drain(&mut self, cpu: u32, now: Ticks) -> Ticks {
        let cpu = &mut self.cpus[cpu as usize];
        let now = cpu.await_loads(now, self.costs.window);
        cpu.await_stores(now)
    }

    /// Keeps a store in the store buffer until `until` at least, and all that come after it. Returns when
    /// it takes effect.
    pub fn hold_store(&mut self, access: &Access, until: Ticks) -> Ticks {
        let (line, mask) = (access.address >> self.line_shift, self.mask(access));
        self.cpus[access.cpu as usize].hold(access, line, mask, until)
    }

    /// Is this access, made at `now`, served from the copy that the CPU's core has at `others`, whatever other cores request
    /// from then on? No access that is still to come is earlier than `others`, and none of them may have any effect on this
    /// one, nor this one on them. So
    /// - the core has the line at `others`, and until `now` no snoop arrives there that takes it away (for a write: none);
    /// - whoever had it before had lost it before `others`;
    /// - a write finds the line modified: a request takes another time for a clean one.
    pub fn holds(&mut self, tag: Tag, access: &Access, others: Ticks, now: Ticks) -> bool {
        let core = self.core_of(access.cpu);
        if let Some(set) = tag.readers() {
            return !access.kind.writes() && self.readers.has(set, core);
        }
        let Some(index) = tag.record_index() else { return tag.private_cpu() == Some(access.cpu) };
        let index = index as usize;
        let needed_until = now + self.exposed(access);
        let line = self.lines.get(index);
        let lost = if access.kind.writes() { line.next_snoop } else { line.next_loss };
        if lost <= needed_until || line.now.since >= others {
            return false;
        }
        let owns = line.now.owner == core;
        if access.kind.writes() {
            return owns && line.now.dirty && line.now.writer == access.cpu as u16;
        }
        let mine = owns && (!line.now.dirty || line.now.writer == access.cpu as u16);
        mine || (line.now.owner == NOBODY && self.lines.has(index, When::Now, core))
    }

    /// How much later than it begins the access has to find the line still there.
    pub(crate) fn exposed(&self, access: &Access) -> Ticks {
        if access.kind == Kind::Rmw { self.costs.exposed } else { 0 }
    }

    /// Is a read of this line by `cpu` a hit that changes nothing? Whoever has a copy keeps it until the snoop of a request
    /// arrives that takes it away: those of reads do not.
    #[inline]
    pub fn quiet_read(&mut self, tag: Tag, cpu: u32, now: Ticks) -> bool {
        let core = self.core_of(cpu);
        if let Some(set) = tag.readers() {
            return self.readers.has(set, core);
        }
        let Some(index) = tag.record_index() else { return false };
        let line = self.lines.get(index as usize);
        // Without branches: which of these holds varies, and would be mispredicted.
        let quiet = (line.next_loss > now) & ((line.now.owner == NOBODY) | (line.now.writer == cpu as u16));
        quiet & self.lines.has(index as usize, When::Now, core)
    }

    /// Until when others than those that have the line now may have written to it.
    #[inline]
    pub fn since(&mut self, tag: Tag) -> Ticks {
        tag.record_index().map_or(0, |index| self.lines.get(index as usize).now.since)
    }

    /// Until when reads by `cpu` are quiet ([`Model::quiet_read`]), as far as is known: another request may make it sooner.
    pub fn quiet_until(&mut self, tag: Tag, cpu: u32) -> Ticks {
        let core = self.core_of(cpu);
        let always = |has: bool| if has { Ticks::MAX } else { 0 };
        if let Some(set) = tag.readers() {
            return always(self.readers.has(set, core));
        }
        let Some(index) = tag.record_index() else { return always(tag.private_cpu() == Some(cpu)) };
        let line = self.lines.get(index as usize);
        let until = line.next_loss;
        let reads = line.now.owner == NOBODY || line.now.writer == cpu as u16;
        if reads && self.lines.has(index as usize, When::Now, core) { until } else { 0 }
    }

    /// A locked operation on bytes of two lines, which are both here at `now`, locks the bus. Returns until when.
    pub fn lock_bus(&mut self, now: Ticks) -> Ticks {
        let (from, until) = self.bus;
        self.bus = if now <= until { (from, until) } else { (now, now) };
        self.bus.1 += self.costs.split_lock;
        self.bus.1
    }

    /// When a request leaves its core that would at `time`: not while the bus is locked.
    #[inline]
    pub(crate) fn on_the_bus(&self, time: Ticks) -> Ticks {
        let (from, until) = self.bus;
        if time >= from && time < until { until } else { time }
    }

    /// Whole pages are unmapped, or their memory is given back.
    pub fn forget_pages(&mut self, begin: u64, bytes: u64) {
        if bytes > 0 {
            self.homes.forget(begin >> self.line_shift, (begin + bytes - 1) >> self.line_shift);
        }
    }

    /// Number of lines that have a record: contended ones.
    pub fn shared_lines(&self) -> usize {
        self.lines.len()
    }

    /// The waits that `cpu` has paid since the last call for accesses that it had run past.
    #[inline]
    pub fn take_blame(&mut self, cpu: u32) -> Option<Blame> {
        self.cpus[cpu as usize].blamed.pop()
    }

    /// `cpu` waits for so long, which the model does not know of.
    pub fn stands_still(&mut self, cpu: u32, stall: Ticks) {
        self.cpus[cpu as usize].stands_still(stall);
    }

    /// Waits for one of [`Model::loads`], whose value is needed.
    pub fn await_load(&mut self, cpu: u32, load: &Load, now: Ticks) -> Ticks {
        self.cpus[cpu as usize].await_load(load, now)
    }

    pub(crate) fn core_of(&self, cpu: u32) -> u16 {
        self.cores[cpu as usize]
    }

    pub(crate) fn room(&self) -> Room {
        Room { misses: self.costs.misses, window: self.costs.window, longest: self.costs.longest }
    }

    pub(crate) fn mask(&self, access: &Access) -> u64 {
        let scale = self.line_shift - 6;
        let offset = (access.address & ((1 << self.line_shift) - 1)) as u32;
        let (first, last) = (offset >> scale, (offset + access.size.max(1) - 1) >> scale);
        (u64::MAX >> (63 - (last - first).min(63))) << first
    }
}
