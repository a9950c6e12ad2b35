// SPDX-License-Identifier: MIT OR Apache-2.0
//! The adjacent-line prefetch: a miss brings the other line of its aligned pair too, as a read that
//! nobody waits for. So two lines can be shared falsely that are not one.
use crate::access::{Access, Kind, Outcome};
use crate::line::{Grant, NOBODY, Times, When};
use crate::model::Model;
use crate::places::Distance;
use crate::{Class, Tag, Ticks};

impl Model {
    /// The other line that a miss at `address` brings, for [`Model::prefetch`].
    #[inline]
    pub fn pair_of(&self, address: u64, outcome: &Outcome) -> Option<u64> {
        if !self.pairs {
            return None;
        }
        let missed = outcome.transfer.is_some_and(|class| !matches!(class, Class::Smt | Class::Upgrade));
        missed.then_some((address ^ 64) & !63)
    }

    /// Brings a line to the core of `cpu` if nothing stands in the way: a prefetch is dropped where a request
    /// for the line is under way. Of a line whose parts are simulated elsewhere there is nothing to bring.
    pub fn prefetch(&mut self, tag: &mut Tag, cpu: u32, address: u64, now: Ticks) {
        if *tag == Tag::ELSEWHERE {
            return;
        }
        let core = self.core_of(cpu);
        let line = address >> self.line_shift;
        if tag.is_untouched() {
            *tag = Tag::private_clean(cpu);
            self.homes.touched(line, self.places.socket(core));
            // Nobody waits for it, but others wait behind it.
            self.waits_for_memory(core, self.homes.of(line), now);
        } else if let Some(owner) = tag.private_cpu() {
            let other = self.core_of(owner);
            if other == core || self.cpus[owner as usize].owns_from(line) > now || self.demoted.contains_key(&line) {
                return;
            }
            let home = self.homes.of(line);
            let way = self.sent_by(line, core, other, tag.is_dirty(), false, home);
            let Some(next) = self.read_from(other, &way, cpu) else { return };
            self.waits_for_data(&way, core, home, now);
            *tag = next;
        } else if let Some(set) = tag.readers() {
            if self.readers.has(set, core) {
                return;
            }
            let Some(next) = self.readers.add(set, core) else { return };
            *tag = Tag::read_by(next);
            let home = self.homes.of(line);
            let distance = self.places.nearest(self.readers.get(set), core, home);
            self.waits_for_data(&self.costs.way(distance, false, false), core, home, now);
        } else if let Some(index) = tag.record_index() {
            self.prefetch_shared(index as usize, cpu, core, line, now);
            return;
        }
        if self.caches.on() {
            self.caches.refill(core, self.places.cluster(core), line);
        }
    }

    fn prefetch_shared(&mut self, index: usize, cpu: u32, core: u16, line: u64, now: Ticks) {
        self.lines.settle(index, now);
        if !self.lines.get(index).queue.is_empty() || self.lines.has(index, When::Tail, core) {
            return;
        }
        let owned = self.lines.get(index).tail.owner != NOBODY;
        let access = Access { cpu, address: line << self.line_shift, size: 1, kind: Kind::Load, origin: 0 };
        let way = self.route(index, core, access.kind.writes(), line);
        let home = self.lines.get(index).home;
        self.waits_for_data(&way, core, home, now);
        let grant = Grant {
            number: 0,
            core,
            cpu: NOBODY,
            writer: cpu as u16,
            agent: self.places.cluster(core),
            within: way.distance == Distance::Cluster,
            alone: way.left,
            dirty: false,
            firm: true,
            snooped: owned,
            left: way.left,
            request: now + way.legs.request,
            snoop_leg: way.legs.snoop,
            data_leg: way.legs.data,
            hold: 0,
            times: Times::default(),
        };
        self.lines.push(index, None, grant, self.costs.home);
        if self.caches.on() {
            self.caches.refill(core, self.places.cluster(core), line);
        }
    }
}
