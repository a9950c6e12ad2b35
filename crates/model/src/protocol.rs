// SPDX-License-Identifier: MIT OR Apache-2.0
//! The coherence protocol: what an access does, by the state of its line, and what it costs.
use crate::access::{Access, Class, Kind, Outcome};
use crate::caches::Found;
use crate::cpu::Forward;
use crate::line::{NOBODY, State, When};
use crate::model::{HANDED, Model};
use crate::requests::Way;
use crate::{Tag, Ticks};

/// Hits in a row after which a line counts as its owner's alone, if they take longer than the slack.
const HITS_TO_DEMOTE: u8 = 12;

impl Model {
    /// Serves one access, made at `now`. Calls must come in order of `now`, give or take the slack that
    /// the caller allows itself.
    pub fn access(&mut self, tag: &mut Tag, access: &Access, now: Ticks) -> Outcome {
        let cpu = access.cpu as usize;
        let mut now = self.cpus[cpu].retire(now, self.costs.window);
        if access.kind == Kind::Rmw {
            now = self.drain(access.cpu, now);
        }
        let mut outcome = match (tag.private_cpu(), tag.readers()) {
            _ if tag.is_untouched() => self.first_touch(tag, access, now),
            (Some(owner), _) if owner == access.cpu => self.private_hit(tag, access, now),
            (Some(owner), _) => self.of_another(tag, owner, access, now),
            (None, Some(set)) => self.read_before(tag, set, access, now),
            (None, None) => self.shared(tag, access, now),
        };
        if access.kind == Kind::Rmw {
            outcome.done += self.costs.rmw;
        }
        outcome
    }

    /// Another CPU has had the line to itself.
    fn of_another(&mut self, tag: &mut Tag, owner: u32, access: &Access, now: Ticks) -> Outcome {
        let line = access.address >> self.line_shift;
        let (writes, dirty) = (access.kind.writes(), tag.is_dirty());
        let plain = matches!(access.kind, Kind::Load | Kind::LoadAwaited | Kind::Store);
        let settled = self.cpus[owner as usize].owns_from(line) <= now;
        if plain && settled && !self.demoted.contains_key(&line) {
            let (core, other, home) = (self.core_of(access.cpu), self.core_of(owner), self.homes.of(line));
            let way = self.sent_by(line, core, other, dirty, writes, home);
            let first = self.handed[line as usize % HANDED] != line;
            let next = if writes || (self.costs.migratory && dirty) {
                first.then(|| {
                    self.handed[line as usize % HANDED] = line;
                    if writes { Tag::private_dirty(access.cpu) } else { Tag::private_clean(access.cpu) }
                })
            } else if way.left || first || !dirty {
                self.read_from(other, &way, access.cpu)
            } else {
                None
            };
            if let Some(next) = next {
                *tag = next;
                return self.hand_over(&way, access, now);
            }
        }
        self.share(tag, access.address, owner);
        self.shared(tag, access, now)
    }

    /// The tag of a line that `other` had alone, and that `cpu` reads as it comes this way; `None` if the line needs a record.
    pub(crate) fn read_from(&mut self, other: u16, way: &Way, cpu: u32) -> Option<Tag> {
        if way.left {
            return Some(Tag::private_clean(cpu));
        }
        let core = self.core_of(cpu);
        self.readers.only(other).and_then(|set| self.readers.add(set, core)).map(Tag::read_by)
    }

    /// The line comes from the one core that has it, without a queue: no other request is pending.
    fn hand_over(&mut self, way: &Way, access: &Access, now: Ticks) -> Outcome {
        let (core, line) = (self.core_of(access.cpu), access.address >> self.line_shift);
        if self.caches.on() {
            self.caches.refill(core, self.places.cluster(core), line);
        }
        let Way { class, legs, .. } = *way;
        let takes = legs.all() + self.waits_for_data(way, core, self.homes.of(line), now);
        let arrival = match class {
            Class::Smt => now + takes,
            Class::Memory => self.on_the_bus(now) + takes,
            _ => self.transferred(access.cpu, now, takes),
        };
        self.cpus[access.cpu as usize].touched_first(line, arrival);
        self.miss(access, now, arrival, class)
    }

    /// Nobody has written the line since it was first shared.
    fn read_before(&mut self, tag: &mut Tag, set: u32, access: &Access, now: Ticks) -> Outcome {
        let core = self.core_of(access.cpu);
        let next = if access.kind.writes() {
            None
        } else if self.readers.has(set, core) {
            let mut served = self.own_buffers_serve(access, now);
            if served.is_none() && self.caches.on() {
                served = self.refilled(access, now);
            }
            return served.unwrap_or_else(|| self.hit(access, now));
        } else {
            self.readers.add(set, core)
        };
        match next {
            Some(next) => {
                *tag = Tag::read_by(next);
                let home = self.homes.of(access.address >> self.line_shift);
                let distance = self.places.nearest(self.readers.get(set), core, home);
                let way = self.costs.way(distance, false, false);
                let waits = self.waits_for_data(&way, core, home, now);
                let arrival = self.transferred(access.cpu, now, way.legs.all() + waits);
                if self.caches.on() {
                    self.caches.refill(core, self.places.cluster(core), access.address >> self.line_shift);
                }
                self.miss(access, now, arrival, way.class)
            }
            None => {
                *tag = self.record_readers(set, access.address >> self.line_shift);
                self.shared(tag, access, now)
            }
        }
    }

    /// A record for a line that was only read until now.
    fn record_readers(&mut self, set: u32, line: u64) -> Tag {
        let state = State { owner: NOBODY, writer: NOBODY, dirty: false, settled: 0, since: 0 };
        Tag::record(self.lines.add_read(state, self.readers.get(set), self.homes.of(line)))
    }

    /// The private line of `owner` gets a record, its old one if it had one.
    pub fn share(&mut self, tag: &mut Tag, address: u64, owner: u32) {
        let (line, dirty) = (address >> self.line_shift, tag.is_dirty());
        let settled = self.cpus[owner as usize].owns_from(line);
        let state = State { owner: self.core_of(owner), writer: owner as u16, dirty, settled, since: 0 };
        *tag = Tag::record(match self.demoted.remove(&line) {
            Some(index) => {
                self.lines.revive(index as usize, state);
                self.lines.get(index as usize).home = self.homes.of(line);
                index
            }
            None => self.lines.add(state, self.homes.of(line)),
        });
    }

    /// A line that one CPU alone has used for a while is private again, and its hits cost nothing. Not one
    /// that is written atomically: a CPU may run ahead on private lines further than on others.
    fn demote(&mut self, tag: &mut Tag, access: &Access) {
        if let Some(index) = tag.record_index()
            && self.lines.get(index as usize).queue.is_empty()
            && !self.lines.get(index as usize).atomic
            && self.is_idle(access.cpu)
        {
            let dirty = self.lines.get(index as usize).now.dirty;
            self.demoted.insert(access.address >> self.line_shift, index);
            *tag = if dirty { Tag::private_dirty(access.cpu) } else { Tag::private_clean(access.cpu) };
        }
    }

    /// [`Model::access`] for a plain access to a line of the CPU's own evicted from its first level, once what is over
    /// by `now` has been retired.
    #[inline]
    pub fn fetch_own(&mut self, tag: &mut Tag, access: &Access, now: Ticks) -> Outcome {
        self.private_hit(tag, access, now)
    }

    // In place: an outcome that is copied has to wait for its parts to be stored.
    #[inline(always)]
    fn private_hit(&mut self, tag: &mut Tag, access: &Access, now: Ticks) -> Outcome {
        if tag.is_evicted() {
            *tag = tag.refilled();
            if access.kind.writes() {
                *tag = Tag::private_dirty(access.cpu);
            }
            return match self.refilled(access, now) {
                Some(outcome) => outcome,
                None => self.hit(access, now),
            };
        }
        if access.kind.writes() {
            *tag = Tag::private_dirty(access.cpu);
        }
        self.hit(access, now)
    }

    /// Nobody has the line: it comes from memory, and stays with this CPU alone.
    fn first_touch(&mut self, tag: &mut Tag, access: &Access, now: Ticks) -> Outcome {
        *tag = if access.kind.writes() { Tag::private_dirty(access.cpu) } else { Tag::private_clean(access.cpu) };
        let line = access.address >> self.line_shift;
        self.homes.touched(line, self.places.socket(self.core_of(access.cpu)));
        let core = self.core_of(access.cpu);
        if self.caches.on() {
            self.caches.refill(core, self.places.cluster(core), line);
        }
        let home = self.homes.of(line);
        let arrival = self.on_the_bus(now) + self.memory_takes(core, home, now);
        let held = if access.kind == Kind::Rmw { arrival + self.costs.rmw } else { arrival };
        self.cpus[access.cpu as usize].touched_first(line, held);
        self.miss(access, now, arrival, Class::Memory)
    }

    /// The CPU may use the line: is it still in its first-level cache? If not, what it takes to bring it.
    #[inline(always)]
    fn refilled(&mut self, access: &Access, now: Ticks) -> Option<Outcome> {
        let (core, line) = (self.core_of(access.cpu), access.address >> self.line_shift);
        let (takes, class) = match self.caches.refill(core, self.places.cluster(core), line) {
            Found::First => return None,
            Found::Second => return Some(self.second_sends(access, now)),
            Found::Third => (self.caches.third_hit, Some(Class::LocalClean)),
            Found::Nowhere => (self.memory_takes(core, self.homes.of(line), now), Some(Class::Memory)),
        };
        Some(self.arrives(access, now, self.on_the_bus(now) + takes, class))
    }

    #[inline(always)]
    fn second_sends(&mut self, access: &Access, now: Ticks) -> Outcome {
        let stores = access.kind.stores();
        let (from, begun) = self.cpus[access.cpu as usize].l2_bandwidth.refill(stores, now, &self.costs.l2_bandwidth);
        self.cpus[access.cpu as usize].stands_still(from - now);
        let mut outcome = self.arrives(access, from, begun + self.caches.second_hit, None);
        outcome.stall += from - now;
        outcome
    }

    /// Was a line evicted from a first-level cache? The caller takes it, and passes its tag to [`Model::evicted`].
    #[inline]
    pub fn any_evicted(&self) -> bool {
        self.caches.any_evicted()
    }

    /// What `cpu` refilled by such an access evicted the line with this tag. Modified, it goes to the cache below.
    #[inline]
    pub fn evicted(&mut self, cpu: u32, kind: Kind, tag: &mut Tag) {
        if *tag == Tag::private_dirty(cpu) {
            self.cpus[cpu as usize].l2_bandwidth.write_back(kind.stores(), &self.costs.l2_bandwidth);
            *tag = tag.written_back();
        }
        *tag = tag.evicted();
    }

    pub fn take_evicted(&mut self) -> Option<u64> {
        self.caches.take_evicted().map(|line| line << self.line_shift)
    }

    #[inline(always)]
    fn hit(&mut self, access: &Access, now: Ticks) -> Outcome {
        let cpu = &mut self.cpus[access.cpu as usize];
        if matches!(access.kind, Kind::Store | Kind::AtomicStore) && cpu.commits_from() > now {
            return self.behind_others(access, now);
        }
        Outcome { done: now, effect: now, stall: 0, transfer: None, dirtied: false }
    }

    /// A store whose line is here waits for those ahead of it.
    #[cold]
    fn behind_others(&mut self, access: &Access, now: Ticks) -> Outcome {
        let (line, mask) = (access.address >> self.line_shift, self.mask(access));
        let cpu = &mut self.cpus[access.cpu as usize];
        let capacity = self.costs.store_buffer;
        let (done, effect) = cpu.merge(access, line, mask, now, capacity).unwrap_or_else(|| {
            let done = cpu.room(now, capacity);
            (done, cpu.store(access, line, mask, done))
        });
        Outcome { done, effect, stall: 0, transfer: None, dirtied: false }
    }

    /// The CPU's side of a line's arrival: what waits, and for how long.
    fn miss(&mut self, access: &Access, now: Ticks, arrival: Ticks, class: Class) -> Outcome {
        self.arrives(access, now, arrival, Some(class))
    }

    /// The same for a line that comes from `transfer`, or from the CPU's own second level.
    #[inline(always)]
    fn arrives(&mut self, access: &Access, now: Ticks, arrival: Ticks, transfer: Option<Class>) -> Outcome {
        let line = access.address >> self.line_shift;
        let (done, effect, stall) = match access.kind {
            Kind::Load => {
                let room = self.room();
                let done = self.cpus[access.cpu as usize].load(access, line, now, arrival, room);
                (done, done, 0)
            }
            Kind::LoadAwaited | Kind::Rmw => self.cpus[access.cpu as usize].waits(now, arrival),
            Kind::Store | Kind::AtomicStore if self.costs.store_buffer == 0 => {
                self.cpus[access.cpu as usize].waits(now, arrival)
            }
            Kind::Store | Kind::AtomicStore => {
                let mask = self.mask(access);
                let cpu = &mut self.cpus[access.cpu as usize];
                let done = cpu.room(now, self.costs.store_buffer);
                (done, cpu.store(access, line, mask, arrival), 0)
            }
        };
        Outcome { done, effect, stall, transfer, dirtied: false }
    }

    fn shared(&mut self, tag: &mut Tag, access: &Access, now: Ticks) -> Outcome {
        let index = tag.record_index().expect("a line with a record") as usize;
        self.lines.settle(index, now + self.exposed(access));
        self.lines.get(index).atomic |= matches!(access.kind, Kind::AtomicStore | Kind::Rmw);
        if let Some(outcome) = self.own_buffers_serve(access, now) {
            return outcome;
        }
        let core = self.core_of(access.cpu);
        let state = self.lines.get(index).now;
        let owns = state.owner == core;
        if owns || (!access.kind.writes() && self.lines.has(index, When::Now, core)) {
            // A copy that is still on its way to a sibling's access is there for both when it arrives.
            let here = if owns { now.max(state.settled) } else { now };
            if here > now && access.kind.stores() {
                let dirtied = self.lines.get(index).written(access);
                return Outcome { dirtied, ..self.arrives(access, now, here, None) };
            }
            self.cpus[access.cpu as usize].stands_still(here - now);
            let mut outcome = self.hit_of_shared(tag, access, here);
            outcome.stall += here - now;
            return outcome;
        }
        let (arrival, class) = self.request(index, access, core, now);
        let Some(class) = class else {
            return Outcome { dirtied: access.kind.writes(), ..self.arrives(access, now, arrival, None) };
        };
        if self.caches.on() {
            self.caches.refill(core, self.places.cluster(core), access.address >> self.line_shift);
        }
        self.lines.get(index).hits = 0;
        self.miss(access, now, arrival, class)
    }

    fn hit_of_shared(&mut self, tag: &mut Tag, access: &Access, now: Ticks) -> Outcome {
        if self.caches.on()
            && let Some(outcome) = self.refilled(access, now)
        {
            let index = tag.record_index().expect("a line with a record") as usize;
            self.lines.get(index).written(access);
            return outcome;
        }
        self.shared_hit(tag, access, now)
    }

    /// The line is already on its way to this CPU, or the bytes are in its store buffer.
    fn own_buffers_serve(&mut self, access: &Access, now: Ticks) -> Option<Outcome> {
        let line = access.address >> self.line_shift;
        let (mask, room, lost) = (self.mask(access), self.room(), self.costs.forwards_lost);
        let cpu = &mut self.cpus[access.cpu as usize];
        let outcome = |(done, effect, stall)| Some(Outcome { done, effect, stall, transfer: None, dirtied: false });
        if !access.kind.writes() && lost && cpu.has_just_stored(line, mask, now) {
            return outcome((now, now, 0));
        }
        if cpu.idle() {
            return None;
        }
        match access.kind {
            Kind::Load | Kind::LoadAwaited => match cpu.forward(line, mask, now, lost) {
                Forward::All => outcome((now, now, 0)),
                Forward::Later(until) => outcome(cpu.waits(now, until)),
                Forward::None => {
                    let arrival = cpu.awaited(line, now)?;
                    if access.kind == Kind::LoadAwaited {
                        return outcome(cpu.waits(now, arrival));
                    }
                    let done = cpu.load(access, line, now, arrival, room);
                    outcome((done, done, 0))
                }
            },
            Kind::Store | Kind::AtomicStore => {
                let (done, effect) = cpu.merge(access, line, mask, now, self.costs.store_buffer)?;
                outcome((done, effect, 0))
            }
            Kind::Rmw => None,
        }
    }

    fn shared_hit(&mut self, tag: &mut Tag, access: &Access, now: Ticks) -> Outcome {
        let index = tag.record_index().expect("a line with a record") as usize;
        let line = self.lines.get(index);
        let from_sibling = line.now.dirty && line.now.writer != access.cpu as u16;
        let dirtied = line.written(access);
        if access.kind == Kind::Store {
            let (number, mask) = (access.address >> self.line_shift, self.mask(access));
            self.cpus[access.cpu as usize].stored(number, mask, now + self.costs.exposed);
        }
        let line = self.lines.get(index);
        if !from_sibling {
            if line.hits == 0 {
                line.alone_from = now;
            }
            line.hits = line.hits.saturating_add(1);
            // One that is ahead of this CPU and wants the line back has asked for it by then. On a private line, this one would
            // run ahead of it in turn, and so on for ever.
            let alone = now > line.alone_from + self.slack;
            if alone && line.hits >= HITS_TO_DEMOTE && line.now.owner != NOBODY && line.now.writer == access.cpu as u16
            {
                self.demote(tag, access);
            }
            return Outcome { dirtied, ..self.hit(access, now) };
        }
        line.now.writer = access.cpu as u16;
        line.hits = 0;
        self.miss(access, now, now + self.costs.smt, Class::Smt)
    }
}
