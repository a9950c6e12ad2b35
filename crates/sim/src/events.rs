// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program does on a CPU, and what follows: the simulator's one entry for accesses and fences.
use crate::access::{Part, others_know};
use crate::event::{Effects, Event, Phase, Retry, Wait, What};
use crate::{Lease, Memory, Sim, Tags};
use core::cell::Cell;
use corefold_model::{Kind, Tag, Ticks};

impl Sim {
    /// The running CPU does this. If the effects say that others come first ([`Effects::OTHERS`]), they are to be run
    /// ([`Sim::next`]), and then the same event is to be passed again.
    pub fn event<W: Memory + Tags>(&mut self, lease: &Lease, world: &mut W, event: &mut Event) -> Effects {
        let mut effects = Effects::default();
        self.event_into(lease, world, event, &mut effects);
        effects
    }

    /// The same, written in place: on hot paths, a copy has to wait until its parts are stored.
    #[inline(always)]
    pub fn event_into<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) {
        effects.clear();
        let part = match event.what {
            What::Load => self.load(lease, world, event, effects),
            What::AtomicLoad => self.atomic_load(lease, world, event, effects),
            What::Store => self.store(lease, world, event, effects),
            What::AtomicStore(value) => self.atomic_store(lease, world, event, value, effects),
            What::Update => self.update(lease, world, event, effects),
            What::Timed(_) => self.timed(lease, world, event, effects),
            What::Fence => self.full_fence(lease, world, event, self.fence, effects),
            What::LockedFence => self.full_fence(lease, world, event, self.locked_fence, effects),
        };
        if matches!(part, Part::Others) {
            effects.set(Effects::OTHERS);
        }
    }

    /// The next of the waits that effects told of.
    #[inline]
    pub fn take_wait(&mut self) -> Option<Wait> {
        self.waits.pop_front()
    }

    /// The next of the stores that asked again for their lines.
    #[inline]
    pub fn take_retry(&mut self) -> Option<Retry> {
        self.retries.pop_front()
    }

    /// Does the running CPU read a copy that it has, and that no request takes from it by now? Such a read takes no time and
    /// changes no state of the line. CPUs behind go first if they can change the value ([`Sim::may_run_ahead`]), but for a
    /// value that may be old: then `None`.
    #[inline]
    fn is_quiet<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) -> Option<bool> {
        let (cpu, address) = (event.access.cpu, event.access.address);
        if event.phase == Phase::Quiet {
            return Some(self.model.quiet_read(world.tag(address).get(), cpu, lease.clock.get()));
        }
        let may_be_old = event.may_be_old && self.within_slack(lease.clock.get());
        self.catch_up(lease, cpu);
        if !self.model.is_idle(cpu) {
            lease.clock.set(self.model.retire(cpu, lease.clock.get()));
            self.cpus[cpu as usize].run_ahead.passed(lease.clock.get());
            self.collect_waits(world, cpu, effects);
        }
        self.flush(world, self.shown(lease.clock.get()), effects);
        let tag = world.tag(address).get();
        if !self.model.quiet_read(tag, cpu, lease.clock.get()) {
            return Some(false);
        }
        if may_be_old || self.is_last(lease.clock.get()) || self.may_run_ahead(tag, &event.access, lease.clock.get()) {
            return Some(true);
        }
        event.phase = Phase::Quiet;
        None
    }

    fn timed<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) -> Part {
        if event.phase == Phase::Begin {
            event.phase = Phase::Earlier;
        }
        self.access(lease, world, event, effects)
    }

    fn load<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) -> Part {
        if event.phase == Phase::Begin {
            let tag = world.tag(event.access.address).get();
            if Lease::covers_read(tag, event.access.cpu) {
                event.phase = Phase::Over;
                return Part::Over;
            }
            event.only_timed = tag.is_untouched() || tag.private_cpu().is_some();
            if event.only_timed {
                event.phase = Phase::Earlier;
            }
        }
        match event.only_timed {
            true => self.access(lease, world, event, effects),
            false => self.atomic_load(lease, world, event, effects),
        }
    }

    #[inline]
    fn atomic_load<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) -> Part {
        if matches!(event.phase, Phase::Begin | Phase::Quiet) {
            match self.is_quiet(lease, world, event, effects) {
                None => return Part::Others,
                Some(true) if event.may_be_old => {
                    event.phase = Phase::Over;
                    return Part::Over;
                }
                Some(true) => event.phase = Phase::Over,
                Some(false) => {
                    event.phase = Phase::Earlier;
                    event.access.kind = if event.awaited { Kind::LoadAwaited } else { Kind::Load };
                }
            }
        }
        if !matches!(event.phase, Phase::Over | Phase::After) {
            // The clock of the access's begin, which what it waits for may move.
            if event.phase == Phase::Earlier {
                event.mark = lease.clock.get();
            }
            if let Part::Others = self.access(lease, world, event, effects) {
                return Part::Others;
            }
            if lease.clock.get() > event.mark {
                event.waits = event.awaited;
                // The value is that of now: the CPU that had the line before may still be behind in virtual time.
                if !self.is_last(lease.clock.get()) {
                    return Part::Others;
                }
            }
        }
        if let Part::Others = self.await_line(lease, world, event, effects) {
            return Part::Others;
        }
        event.phase = Phase::Over;
        self.flush(world, self.shown(lease.clock.get()), effects);
        self.found(world, event, effects);
        Part::Over
    }

    fn found(&self, world: &impl Memory, event: &Event, effects: &mut Effects) {
        if event.access.size <= 8 {
            effects.value = world.read(event.access.address, event.access.size as u8);
            effects.set(Effects::VALUE);
        }
    }

    fn store<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) -> Part {
        let (cpu, address) = (event.access.cpu, event.access.address);
        if event.phase == Phase::Begin {
            event.before = world.tag(address).get();
            event.phase = Phase::Earlier;
            // Older stores of this CPU that wait commit before another CPU gets the line ([`Sim::reveal`]).
            if Lease::covers_store(event.before, cpu) {
                world.tag(address).set(event.before.modified());
                event.phase = Phase::Over;
                effects.value = lease.clock.get();
                return Part::Over;
            }
        }
        if event.phase != Phase::After {
            if let Part::Others = self.access(lease, world, event, effects) {
                return Part::Others;
            }
            event.mark = effects.outcome.effect;
            // It has waited since CPUs that are behind went first, as for a line on its way to a sibling, who may have stored.
            let waited = lease.clock.get() > event.asked && others_know(event.before, cpu);
            if waited && !self.is_last(lease.clock.get()) {
                return Part::Others;
            }
        }
        // Stores that are due commit before it, also those to these bytes.
        self.flush(world, self.shown(lease.clock.get()), effects);
        let mut seen = lease.clock.get();
        if self.stores.any_of(cpu) {
            let bytes = address..address + u64::from(event.access.size);
            let (pc, ..) = crate::parts(event.access.origin);
            self.stores.defer_plain(world, cpu, bytes, event.mark, pc);
            seen = self.stores.youngest(cpu).map_or(seen, |store| store.effect);
        }
        effects.value = seen;
        if event.before.record_index().is_some() {
            effects.set(Effects::WAS_SHARED);
        }
        Part::Over
    }

    fn atomic_store<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        value: u64,
        effects: &mut Effects,
    ) -> Part {
        let (cpu, address, size) = (event.access.cpu, event.access.address, event.access.size as u8);
        if event.phase == Phase::Begin {
            self.catch_up(lease, cpu);
            event.phase = Phase::Room;
        }
        if event.phase == Phase::Room {
            if let Part::Others = self.await_room(lease, world, cpu, effects) {
                return Part::Others;
            }
            event.phase = Phase::Earlier;
        }
        if event.phase == Phase::Earlier {
            event.before = world.tag(address).get();
        }
        if let Part::Others = self.access(lease, world, event, effects) {
            return Part::Others;
        }
        let at = effects.outcome.effect;
        let effect = self
            .delays
            .as_mut()
            .and_then(|delays| delays.stored())
            .map_or(at, |longer| self.model.hold_store(&event.access, at.max(lease.clock.get()) + longer));
        let effect = effect.max(self.stores.not_before);
        if effect <= lease.clock.get() && !self.stores.any_of(cpu) {
            world.write(address, size, value);
        } else {
            keep_clean(world.tag(address), cpu, event.before);
            let (pc, ..) = crate::parts(event.access.origin);
            self.stores.defer(world, cpu, (address, size), value, effect, pc);
        }
        Part::Over
    }

    fn update<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) -> Part {
        if event.phase == Phase::Begin {
            event.phase = Phase::Earlier;
        }
        if event.phase != Phase::After {
            if let Part::Others = self.access(lease, world, event, effects) {
                return Part::Others;
            }
            let outcome = &effects.outcome;
            event.mark = outcome.done - outcome.effect;
            lease.clock.set(lease.clock.get() - event.mark);
            // It takes effect when the line has arrived; CPUs that are behind run first.
            event.waits = outcome.transfer.is_some() || outcome.stall > 0;
            if event.waits && !self.is_last(lease.clock.get()) {
                return Part::Others;
            }
        }
        if let Part::Others = self.await_line(lease, world, event, effects) {
            return Part::Others;
        }
        event.phase = Phase::Over;
        // It finds what has committed when it takes effect, not what commits while it holds the line: a sibling's store.
        self.flush(world, self.shown(lease.clock.get()), effects);
        let cpu = event.access.cpu;
        let begin = self.model.locked(cpu, lease.clock.get());
        if begin > lease.clock.get() {
            lease.clock.set(begin);
            // The core cannot compute meanwhile: that is not made up for.
            self.cpus[cpu as usize].run_ahead.passed(begin + event.mark);
            effects.set(Effects::LIMIT);
        }
        lease.spend(event.mark);
        self.found(world, event, effects);
        Part::Over
    }

    fn full_fence<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        takes: Ticks,
        effects: &mut Effects,
    ) -> Part {
        let cpu = event.access.cpu;
        if event.phase == Phase::Begin {
            self.catch_up(lease, cpu);
            self.cpus[cpu as usize].run_ahead.lost();
            lease.clock.set(self.model.drain(cpu, lease.clock.get()));
            self.collect_waits(world, cpu, effects);
            event.phase = Phase::Drained;
        } else {
            self.flush(world, lease.clock.get(), effects);
        }
        if !self.await_own_stores(lease, world, cpu, effects) {
            return Part::Others;
        }
        event.phase = Phase::Over;
        lease.spend(takes);
        Part::Over
    }
}

/// A store waits on a line that is the CPU's own since it asked for it. The line counts as clean: plain stores to it are
/// events and wait as well, and another CPU that asks for it finds it as it was ([`Sim::reveal`]).
fn keep_clean(tag: &Cell<Tag>, cpu: u32, before: Tag) {
    if tag.get() == Tag::private_dirty(cpu) && before != tag.get() {
        tag.set(Tag::private_clean(cpu));
    }
}

#[cfg(test)]
mod tests;
