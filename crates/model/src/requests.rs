// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests for a line: how they queue at its home, where its data comes from, and when it arrives.
use crate::access::{Access, Class, Kind, Outcome};
use crate::costs::{Costs, Legs};
use crate::line::{Grant, NOBODY, Request, Times, When};
use crate::model::Model;
use crate::places::{ANYWHERE, Distance};
use crate::{Tag, Ticks};

/// How a line comes to who requests it.
pub(crate) struct Way {
    pub class: Class,
    pub legs: Legs,
    pub distance: Distance,
    /// No core's own caches have it any more: whoever reads it has it alone.
    pub left: bool,
    /// Its memory gets what is new to it: the bytes, which a core had modified and now shares, or that a core may modify them.
    pub told: bool,
}

impl Costs {
    /// From one of the cores that have it, this far away.
    pub fn way(&self, distance: Distance, dirty: bool, writes: bool) -> Way {
        let (class, legs) = (distance.class(dirty), self.legs(distance, dirty || writes));
        Way { class, legs, distance, left: false, told: dirty != writes }
    }
}

impl Model {
    /// When a line arrives that another core sends, and for which nobody else has asked.
    pub(crate) fn transferred(&mut self, cpu: u32, now: Ticks, takes: Ticks) -> Ticks {
        let leaves = self.cpus[cpu as usize].leaves(now, self.costs.transfers);
        let arrival = self.on_the_bus(leaves) + takes;
        self.cpus[cpu as usize].transfers(arrival);
        arrival
    }

    /// Queues a request at the line's home. Returns when the line arrives and from where; from nowhere if it is
    /// on its way to this CPU already.
    pub(crate) fn request(&mut self, index: usize, access: &Access, core: u16, now: Ticks) -> (Ticks, Option<Class>) {
        let tail = self.lines.get(index).tail;
        let writes = access.kind.writes();
        if tail.owner == core || (!writes && self.lines.has(index, When::Tail, core)) {
            let sibling = tail.owner == core && tail.writer != access.cpu as u16;
            if writes {
                self.lines.write_on_arrival(index, access.cpu as u16);
            }
            self.cpus[access.cpu as usize].waits_for = self.lines.youngest(index);
            return (tail.settled.max(now), sibling.then_some(Class::Smt));
        }
        // A store that finds a load of its line under way requests the line once that is done: the load has the fill buffer.
        let cpu = &mut self.cpus[access.cpu as usize];
        let loaded = cpu.loads_line(access.address >> self.line_shift, now).filter(|_| access.kind.stores());
        let leaves = cpu.leaves(now, self.costs.transfers).max(loaded.unwrap_or(now));
        let leaves = self.on_the_bus(leaves);
        let agent = self.places.cluster(core);
        let ahead = self.ahead(index, access, agent, leaves);
        let (owned, dirty, way) = match ahead {
            Some(place) => {
                let (from, dirty) = self.lines.get(index).before(place);
                let distance = self.places.between(core, from, self.lines.get(index).home);
                (true, dirty, self.costs.way(distance, dirty, writes))
            }
            None => {
                let way = self.route(index, core, writes, access.address >> self.line_shift);
                (tail.owner != NOBODY, tail.dirty, way)
            }
        };
        let class = way.class;
        let mut legs = self.varied(way.legs, access);
        let home = self.lines.get(index).home;
        legs.data += self.waits_for_data(&way, core, home, leaves);
        self.requests += 1;
        self.cpus[access.cpu as usize].waits_for = Request { number: self.requests, cpu: access.cpu as u16 };
        let grant = Grant {
            number: self.requests,
            core,
            cpu: access.cpu as u16,
            writer: access.cpu as u16,
            agent,
            within: way.distance == Distance::Cluster,
            alone: writes || way.left || (self.costs.migratory && owned && dirty),
            dirty: writes,
            snooped: writes || owned,
            left: way.left,
            firm: access.kind == Kind::Load,
            request: leaves + legs.request,
            snoop_leg: legs.snoop,
            data_leg: legs.data,
            // A store's line may be taken away before it commits: then it is asked for again.
            hold: if access.kind == Kind::Rmw { self.costs.rmw } else { 0 },
            times: Times::default(),
        };
        let arrival = self.lines.push(index, ahead, grant, self.costs.home);
        self.cpus[access.cpu as usize].transfers(arrival);
        (arrival, Some(class))
    }

    /// Where a request of `agent` that leaves then goes ahead of others, which wait for the line.
    fn ahead(&mut self, index: usize, access: &Access, agent: u16, leaves: Ticks) -> Option<usize> {
        let home = self.costs.home;
        if !home.queueing || self.lines.get(index).queue.is_empty() {
            return None;
        }
        let reaches = leaves + self.costs.legs(Distance::Cluster, true).request;
        // Not the bits of the same draw that vary the legs.
        let drawn =
            if home.in_order { 0 } else { self.draws.next(access.address >> self.line_shift, access.cpu) >> 32 };
        self.lines.get(index).ahead(agent, reaches, drawn)
    }

    /// Latency of each leg, with random variation: core and mesh clocks are not aligned, and the mesh is shared. Each
    /// varies by as much, and together they have the machine's spread.
    fn varied(&mut self, legs: Legs, access: &Access) -> Legs {
        let width = self.costs.spread_of(&legs);
        if width == 0 {
            return legs;
        }
        let drawn = self.draws.next(access.address >> self.line_shift, access.cpu);
        let vary = |leg: Ticks, draw: u64| {
            let width = width.min(leg);
            leg - width + (((2 * width + 1) * (draw & 0xf_ffff)) >> 20)
        };
        let Legs { request, snoop, data } = legs;
        Legs { request: vary(request, drawn), snoop: vary(snoop, drawn >> 20), data: vary(data, drawn >> 40) }
    }

    /// May a store of `cpu` that has waited in its buffer commit at `now`? Not if the line has been taken away
    /// meanwhile.
    pub fn commits(&mut self, tag: Tag, cpu: u32, now: Ticks) -> bool {
        let Some(index) = tag.record_index() else { return true };
        self.lines.settle(index as usize, now);
        self.lines.get(index as usize).now.owner == self.core_of(cpu)
    }

    /// When the line arrives that `cpu` has asked for and has been told to arrive at `now`: later, if requests of other
    /// CPUs have gone ahead since. It waits until then.
    pub fn postponed(&mut self, tag: Tag, cpu: u32, now: Ticks) -> Option<Ticks> {
        let index = tag.record_index()? as usize;
        self.lines.settle(index, now);
        let until = self.lines.awaited(index, cpu as u16, self.cpus[cpu as usize].waits_for, now)?;
        self.cpus[cpu as usize].stands_still(until - now);
        Some(until)
    }

    /// Asks once more for the line of a store whose turn to commit it is, at `now`. Returns when it does.
    pub fn ask_again(&mut self, tag: Tag, access: &Access, now: Ticks) -> Outcome {
        let index = tag.record_index().expect("a line that others have taken has a record") as usize;
        let core = self.core_of(access.cpu);
        // The CPU itself may be waiting for another line meanwhile.
        let waits_for = self.cpus[access.cpu as usize].waits_for;
        let (arrival, transfer) = match self.lines.coming(index, access.cpu as u16) {
            Some(arrival) => (arrival, None),
            None => self.request(index, access, core, now),
        };
        self.cpus[access.cpu as usize].waits_for = waits_for;
        let (line, mask) = (access.address >> self.line_shift, self.mask(access));
        let effect = self.cpus[access.cpu as usize].store(access, line, mask, arrival);
        Outcome { done: now, effect, stall: 0, transfer, dirtied: false }
    }

    /// The way to where the line is: for a write to one that several have, to the farthest copy, which must be dropped.
    pub(crate) fn route(&mut self, index: usize, core: u16, writes: bool, number: u64) -> Way {
        let line = self.lines.get(index);
        let (tail, home) = (line.tail, line.home);
        if tail.owner != NOBODY {
            if line.queue.is_empty() {
                return self.sent_by(number, core, tail.owner, tail.dirty, writes, home);
            }
            return self.costs.way(self.places.between(core, tail.owner, home), tail.dirty, writes);
        }
        let set = self.lines.set(index, When::Tail);
        let upgrades = writes && self.lines.has(index, When::Tail, core);
        let class = if upgrades { Class::Upgrade } else { self.places.nearest(set, core, home).class(false) };
        let distance =
            if writes { self.places.farthest(set, core, home) } else { self.places.nearest(set, core, home) };
        Way { class, ..self.costs.way(distance, false, writes) }
    }

    /// What a line takes from memory.
    pub(crate) fn memory_takes(&mut self, core: u16, home: u8, now: Ticks) -> Ticks {
        self.memory_legs(core, home).all() + self.waits_for_memory(core, home, now)
    }

    /// How long a line that comes from memory waits for others: at its home, and on its way from another socket.
    pub(crate) fn waits_for_memory(&mut self, core: u16, home: u8, now: Ticks) -> Ticks {
        let here = self.places.socket(core);
        let of = if home == ANYWHERE { here } else { home };
        self.memory.wait(of, now) + if of == here { 0 } else { self.links.wait(here, now) }
    }

    /// The same of a line that comes this way: between sockets its home may have to read in its memory who has it.
    pub(crate) fn waits_for_data(&mut self, way: &Way, core: u16, home: u8, now: Ticks) -> Ticks {
        if way.class == Class::Memory {
            return self.waits_for_memory(core, home, now);
        }
        if way.distance < Distance::Remote {
            return 0;
        }
        let mut waits = if way.class == Class::Upgrade { 0 } else { self.links.wait(self.places.socket(core), now) };
        if self.costs.directory_in_memory {
            waits += self.memory.wait(home, now);
            if way.told {
                self.memory.wait(home, now);
            }
        }
        waits
    }

    pub(crate) fn memory_legs(&self, core: u16, home: u8) -> Legs {
        let here = home == ANYWHERE || home == self.places.socket(core);
        if here { self.costs.memory } else { self.costs.remote_memory }
    }

    /// How a line comes that `owner` alone has had: from its caches, or from where it is since it left them.
    pub(crate) fn sent_by(&mut self, line: u64, core: u16, owner: u16, dirty: bool, writes: bool, home: u8) -> Way {
        let distance = self.places.between(core, owner, home);
        if self.caches.on() && !self.caches.has(owner, line) {
            let (class, legs) = if self.caches.third_has(self.places.cluster(owner), line) {
                (distance.class(false), self.costs.legs(distance, false))
            } else {
                (Class::Memory, self.memory_legs(core, home))
            };
            return Way { class, legs, distance, left: true, told: true };
        }
        if core == owner {
            let legs = Legs { data: self.costs.smt, ..Legs::default() };
            return Way { class: Class::Smt, legs, distance, left: false, told: false };
        }
        self.costs.way(distance, dirty, writes)
    }
}
