// SPDX-License-Identifier: MIT OR Apache-2.0
//! One access: what it has to wait for, who goes first, what it costs, and what it does to others.
use crate::event::{Effects, Event, Phase, Retry, Wait};
use crate::memory::with_tag;
use crate::{Lease, Memory, Sim, Store, Tags};
use corefold_model::{Access, Blame, Kind, Load, Tag, Ticks};

/// Has the part of an event come to its end, or do others run first?
pub(crate) enum Part {
    Over,
    Others,
}

impl Sim {
    /// The access of `event`, from [`Phase::Earlier`] on; after it comes [`Phase::After`].
    #[inline]
    pub(crate) fn access<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &mut Event,
        effects: &mut Effects,
    ) -> Part {
        // The access is not copied: it may just have been written, in parts that a copy has to wait for.
        let (cpu, waits) = (event.access.cpu, event.access.kind == Kind::Rmw);
        if event.phase == Phase::Earlier {
            self.catch_up(lease, cpu);
            event.asked = lease.clock.get();
            if !self.model.is_idle(cpu) {
                self.finish_earlier(lease, world, &event.access, effects);
            }
            event.phase =
                if waits && !self.await_own_stores(lease, world, cpu, effects) { Phase::Drained } else { Phase::Order };
            if event.phase == Phase::Drained {
                return Part::Others;
            }
        }
        if event.phase == Phase::Drained {
            self.flush(world, lease.clock.get(), effects);
            if !self.await_own_stores(lease, world, cpu, effects) {
                return Part::Others;
            }
            event.phase = Phase::Order;
        }
        if event.phase == Phase::Order {
            event.phase = Phase::Access;
            let tag = world.tag(event.access.address).get();
            let clock = lease.clock.get();
            let in_turn = !waits || self.siblings_are_ahead(clock);
            if !in_turn || others_know(tag, cpu) && !self.may_go_first(tag, &event.access, clock) {
                return Part::Others;
            }
        }
        self.ask_model(lease, world, event, effects);
        event.phase = Phase::After;
        Part::Over
    }

    fn ask_model<W: Memory + Tags>(&mut self, lease: &Lease, world: &mut W, event: &Event, effects: &mut Effects) {
        let Access { cpu, address, kind, .. } = event.access;
        // Stores that are due commit before it: whether they still have their lines is told by how things are now.
        self.flush(world, self.shown(lease.clock.get()), effects);
        effects.retries_before = self.retries.len() as u16;
        // Only now that the CPUs behind have run: until here the owner may have stored to it.
        let shared = self.model.shared_lines();
        self.reveal(world, address, cpu, lease.clock.get(), effects);
        // In place: a copy has to wait until its parts are stored.
        effects.outcome = with_tag(world.tag(address), |tag| self.model.access(tag, &event.access, lease.clock.get()));
        if effects.outcome.transfer.is_some() || kind.writes() {
            self.requested(address, lease.clock.get(), effects);
            if let Some(other) = self.model.pair_of(address, &effects.outcome) {
                self.prefetch(world, other, cpu, lease.clock.get(), effects);
            }
        }
        if self.model.any_evicted() {
            self.mark_evicted(world, cpu, kind);
        }
        if self.model.shared_lines() != shared {
            effects.set(Effects::SHARED);
        }
        lease.clock.set(effects.outcome.done);
        if lease.clock.get() >= self.sibling_changes() {
            effects.set(Effects::LIMIT);
        }
        self.collect_waits(world, cpu, effects);
        let window = self.model.window();
        let run_ahead = &mut self.cpus[cpu as usize].run_ahead;
        if kind == Kind::Rmw && effects.outcome.stall > 0 {
            run_ahead.waited(effects.outcome.stall, window, lease.clock.get());
            effects.set(Effects::LIMIT);
        } else {
            run_ahead.passed(lease.clock.get());
        }
        effects.accessed(event.asked, world.tag(address).get());
    }

    /// L1 refill: a plain access to a line that the running CPU has alone, and that was evicted from its first-level cache. They are
    /// most of the events where data is private to threads. No other CPU can observe one, so no other has to run first, none
    /// has a store pending there, none skips a spin on the line, and no thread spins on the word.
    ///
    /// Returns whether the access is one of these.
    #[inline]
    pub fn refill<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        access: &Access,
        effects: &mut Effects,
    ) -> bool {
        let cpu = access.cpu;
        let tag = world.tag(access.address).get();
        if !lease.evicted(tag) || self.cpus[cpu as usize].run_ahead.is_ahead() {
            return false;
        }
        // Stores that are due go first, as one may ask again for its line; a plain store waits behind those of its CPU.
        if self.stores.is_due(lease.clock.get()) || self.stores.any_of(cpu) {
            return false;
        }
        let asked = lease.clock.get();
        if !self.model.let_go(cpu, asked) {
            self.finish_earlier(lease, world, access, effects);
            if lease.clock.get() != asked {
                lease.clock.set(self.model.retire(cpu, lease.clock.get()));
            }
        }
        effects.outcome =
            with_tag(world.tag(access.address), |tag| self.model.fetch_own(tag, access, lease.clock.get()));
        if let Some(other) = self.model.pair_of(access.address, &effects.outcome)
            && !world.tag(other).get().is_of(lease.tag.get())
        {
            self.prefetch(world, other, cpu, lease.clock.get(), effects);
        }
        if self.model.any_evicted() {
            self.mark_evicted(world, cpu, access.kind);
        }
        lease.clock.set(effects.outcome.done);
        self.collect_waits(world, cpu, effects);
        effects.accessed(asked, world.tag(access.address).get());
        true
    }

    /// The part of the computation since the last access that overlapped with a locked operation's wait takes no time.
    #[inline]
    pub(crate) fn catch_up(&mut self, lease: &Lease, cpu: u32) {
        let run_ahead = &mut self.cpus[cpu as usize].run_ahead;
        if run_ahead.is_ahead() {
            lease.clock.set(run_ahead.catch_up(lease.clock.get()));
        }
    }

    fn may_go_first(&mut self, tag: Tag, access: &Access, clock: Ticks) -> bool {
        self.is_last(clock) || self.may_run_ahead(tag, access, clock)
    }

    /// Completes the CPU's outstanding accesses as far as this one has to wait for them.
    fn finish_earlier<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        access: &Access,
        effects: &mut Effects,
    ) {
        let (cpu, before) = (access.cpu, lease.clock.get());
        let clock = match access.kind {
            Kind::Rmw => self.model.drain(cpu, before),
            Kind::Load | Kind::LoadAwaited => {
                let now = self.model.retire(cpu, before);
                self.address_known(world, cpu, access.address, now)
            }
            Kind::Store | Kind::AtomicStore => self.model.retire(cpu, before),
        };
        lease.clock.set(clock);
        self.collect_waits(world, cpu, effects);
    }

    /// An outstanding load may be about to deliver this very address (a dependent access): then it waits. Events carry no
    /// data flow, so the loaded value decides: it points to within a page of the address, as the program knows it.
    fn address_known(&mut self, world: &impl Memory, cpu: u32, address: u64, now: Ticks) -> Ticks {
        let address = world.held_at(address);
        let word = |load: &Load| world.read(load.address & !7, 8);
        if !self.model.may_deliver_near(cpu, address, word) {
            return now;
        }
        let near = |value: u64| value.wrapping_sub(address).wrapping_add(4096) < 8192;
        let mut source: Option<Load> = None;
        for load in self.model.loads(cpu) {
            if near(word(load)) && source.is_none_or(|s| s.done <= load.done) {
                source = Some(*load);
            }
        }
        match source {
            Some(load) => self.model.await_load(cpu, &load, now),
            None => now,
        }
    }

    /// Waits that the CPU has paid for accesses that it had run ahead of.
    #[inline]
    pub(crate) fn collect_waits(&mut self, world: &mut impl Tags, cpu: u32, effects: &mut Effects) {
        while let Some(blame) = self.model.take_blame(cpu) {
            self.wait(world, blame, effects);
        }
    }

    pub(crate) fn wait(&mut self, world: &mut impl Tags, blame: Blame, effects: &mut Effects) {
        self.waits.push_back(Wait { blame, record: world.tag(blame.address).get().record_index() });
        effects.set(Effects::WAITED);
    }

    /// Another CPU than the owner asks for a private line. If the owner has modified it, its plain stores there were not put
    /// off, so what it stored before them takes effect first. If not, a store of its own may wait on it, and asks for it
    /// again when it can commit.
    #[inline]
    pub(crate) fn reveal<W: Memory + Tags>(
        &mut self,
        world: &mut W,
        address: u64,
        asks: u32,
        now: Ticks,
        effects: &mut Effects,
    ) {
        let tag = world.tag(address).get();
        if let Some(owner) = tag.private_cpu()
            && owner != asks
            && self.stores.any_of(owner)
        {
            match tag.is_dirty() {
                true if self.commit_early(world, owner, now) => effects.set(Effects::LIMIT),
                true => {}
                false => self.keep_shared(world, address, owner),
            }
        }
    }

    /// While a store waits on a line, no CPU has it without others knowing.
    #[cold]
    fn keep_shared(&mut self, tags: &mut impl Tags, address: u64, owner: u32) {
        let line = self.line_start(address);
        if self.stores.any_on(&(line..line + self.line_bytes)) {
            with_tag(tags.tag(address), |tag| self.model.share(tag, address, owner));
        }
    }

    /// A line is asked for: who watches it looks again.
    #[inline]
    fn requested(&mut self, address: u64, time: Ticks, effects: &mut Effects) {
        if self.touched(address, time) {
            effects.set(Effects::LIMIT);
        }
    }

    /// The adjacent-line prefetcher requests the other line of a pair.
    #[cold]
    fn prefetch<W: Memory + Tags>(&mut self, world: &mut W, address: u64, cpu: u32, now: Ticks, effects: &mut Effects) {
        self.reveal(world, address, cpu, now, effects);
        with_tag(world.tag(address), |tag| self.model.prefetch(tag, cpu, address, now));
        self.requested(address, now, effects);
    }

    /// Lines that were evicted from a first-level cache: the next access to them is an event.
    #[inline]
    fn mark_evicted(&mut self, world: &mut impl Tags, cpu: u32, kind: Kind) {
        while let Some(address) = self.model.take_evicted() {
            with_tag(world.tag(address), |tag| self.model.evicted(cpu, kind, tag));
        }
    }

    /// Waits until a store of the running CPU takes effect; the CPUs behind go first.
    pub(crate) fn await_store(&mut self, lease: &Lease, world: &mut impl Tags, store: &Store, effects: &mut Effects) {
        let stall = store.effect.saturating_sub(lease.clock.get());
        lease.spend(stall);
        self.model.stands_still(self.cpu as u32, stall);
        self.wait(world, Blame { address: store.address, origin: store.origin(), stall }, effects);
    }

    /// The CPU has waited until its line should be here, and those behind have run: requests of theirs may have gone ahead,
    /// so that it comes later.
    pub(crate) fn await_line<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        event: &Event,
        effects: &mut Effects,
    ) -> Part {
        let Access { cpu, address, origin, kind, .. } = event.access;
        if !event.waits {
            return Part::Over;
        }
        loop {
            // Stores that are due commit before the line's state of later is looked at.
            self.flush(world, self.shown(lease.clock.get()), effects);
            let Some(until) = self.model.postponed(world.tag(address).get(), cpu, lease.clock.get()) else {
                return Part::Over;
            };
            let stall = until - lease.clock.get();
            lease.clock.set(until);
            self.wait(world, Blame { address, origin, stall }, effects);
            if kind == Kind::Rmw {
                let window = self.model.window();
                self.cpus[cpu as usize].run_ahead.waited(stall, window, until + event.mark);
                effects.set(Effects::LIMIT);
            }
            if !self.is_last(until) {
                return Part::Others;
            }
        }
    }

    /// Waits until the store buffer has room for one more store. What is in the way may have to ask for its line again.
    pub(crate) fn await_room<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        cpu: u32,
        effects: &mut Effects,
    ) -> Part {
        loop {
            self.flush(world, self.shown(lease.clock.get()), effects);
            let Some(store) = self.stores.in_the_way(cpu) else { return Part::Over };
            self.await_store(lease, world, &store, effects);
            if !self.is_last(lease.clock.get()) {
                return Part::Others;
            }
        }
    }

    /// Waits until all stores of the running CPU have committed, however often their lines have to be requested again.
    /// Returns whether they have; otherwise others go first.
    pub(crate) fn await_own_stores<W: Memory + Tags>(
        &mut self,
        lease: &Lease,
        world: &mut W,
        cpu: u32,
        effects: &mut Effects,
    ) -> bool {
        while let Some(store) = self.stores.last(cpu) {
            self.await_store(lease, world, &store, effects);
            if !self.is_last(lease.clock.get()) {
                return false;
            }
            self.flush(world, lease.clock.get(), effects);
        }
        true
    }

    /// Carries out every store whose time has come by `now`.
    #[inline]
    pub(crate) fn flush<W: Memory + Tags>(&mut self, world: &mut W, now: Ticks, effects: &mut Effects) {
        while self.stores.is_due(now) {
            self.commit(world, effects);
        }
    }

    /// The same for a front end, between events.
    pub fn commit_until<W: Memory + Tags>(&mut self, world: &mut W, now: Ticks) -> Effects {
        let mut effects = Effects::default();
        self.flush(world, now, &mut effects);
        effects
    }

    fn commit<W: Memory + Tags>(&mut self, world: &mut W, effects: &mut Effects) {
        let retry = self.stores.first_uncertain().and_then(|(cpu, store)| self.ask_again(world, cpu, &store));
        self.stores.commit(world, self.cpu as u32, retry.map(|retry| retry.outcome.effect));
        if let Some(retry) = retry {
            self.requested(retry.access.address, retry.outcome.done, effects);
            self.retries.push_back(retry);
            effects.set(Effects::RETRIED);
        }
    }

    /// Asks for the line of a store that could commit now, if another CPU has taken it.
    fn ask_again(&mut self, tags: &mut impl Tags, cpu: u32, store: &Store) -> Option<Retry> {
        let tag = tags.tag(store.address).get();
        if self.model.commits(tag, cpu, store.effect) {
            return None;
        }
        let size = u32::from(store.size);
        let access = Access { cpu, address: store.address, size, kind: Kind::AtomicStore, origin: store.origin() };
        let outcome = self.model.ask_again(tag, &access, store.effect);
        Some(Retry { access, record: tag.record_index(), outcome })
    }
}

#[inline]
pub(crate) fn others_know(tag: Tag, cpu: u32) -> bool {
    !tag.is_untouched() && tag.private_cpu() != Some(cpu)
}

impl Effects {
    #[inline]
    fn accessed(&mut self, asked: Ticks, tag: Tag) {
        (self.asked, self.tag) = (asked, tag);
        self.set(Effects::ACCESSED);
    }
}

#[cfg(test)]
mod tests;
