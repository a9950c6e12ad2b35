// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outstanding accesses of a CPU: loads that it does not wait for, and stores in its buffer.
use crate::l2_bandwidth::L2Bandwidth;
use crate::line::Request;
use crate::pages::Pages;
use crate::{Access, Ticks, ticks};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A load whose line has not arrived yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub address: u64,
    pub line: u64,
    origin: u64,
    /// When the CPU issued it, less how long it had stood still by then.
    issued: Ticks,
    pub done: Ticks,
}

/// A wait that was paid later than the access that caused it: the CPU had run on past a load, or left a
/// store in its buffer, and now had to wait for it after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    pub address: u64,
    /// [`crate::Access::origin`] of the access that caused the wait.
    pub origin: u64,
    pub stall: Ticks,
}

/// Stores in a row to one line, which wait for it and commit together.
#[derive(Clone, Copy, Debug)]
struct Store {
    line: u64,
    /// How many: each takes an entry of the buffer.
    entries: u32,
    address: u64,
    origin: u64,
    /// The bytes of the line that were stored, a bit each (of a 128-byte line, one for two bytes).
    mask: u64,
    commit: Ticks,
}

pub(crate) struct Cpu {
    loads: VecDeque<Load>,
    /// What they deliver.
    pages: Pages,
    stores: VecDeque<Store>,
    /// Entries that the stores take.
    entries: u32,
    last_commit: Ticks,
    /// When the last of the loads is done that were begun so far: stores commit after the loads before them.
    loaded: Ticks,
    /// A load is under way that the CPU may have to wait for at the end of its window.
    outlasts: bool,
    /// How long the CPU has stood still, of all its time: then it does not run further past its loads.
    stood_still: Ticks,
    /// When the lines that other cores send to this one arrive, in the order of its requests.
    transfers: VecDeque<Ticks>,
    /// The last store to a line that was here, and until when it had not left the buffer: that counts for loads
    /// of its bytes only, which get them even if the line is gone.
    recent: (u64, u64, Ticks),
    /// The line that this CPU last brought in from memory, and when its access is over.
    fresh: (u64, Ticks),
    /// The request for the line that this CPU asked for last.
    pub waits_for: Request,
    pub l2_bandwidth: L2Bandwidth,
    /// Waits that the caller has not collected yet.
    pub blamed: Vec<Blame>,
}

/// How many loads a CPU may have outstanding, and how far it may run past one.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub misses: usize,
    pub window: Ticks,
    /// The longest way of a line, if nobody waits for it.
    pub longest: Ticks,
}

/// What a load finds in the CPU's own store buffer.
pub(crate) enum Forward {
    None,
    All,
    /// Not all of the bytes, or not yet: the load has to wait until then.
    Later(Ticks),
}

impl Cpu {
    pub fn new() -> Self {
        Cpu {
            loads: VecDeque::new(),
            pages: Pages::new(),
            stores: VecDeque::new(),
            entries: 0,
            last_commit: 0,
            loaded: 0,
            outlasts: false,
            stood_still: 0,
            transfers: VecDeque::new(),
            recent: (0, 0, 0),
            fresh: (0, 0),
            waits_for: Request::default(),
            l2_bandwidth: L2Bandwidth::new(),
            blamed: Vec::new(),
        }
    }

    #[inline]
    pub fn idle(&self) -> bool {
        self.loads.is_empty() && self.stores.is_empty()
    }

    /// Retires all outstanding accesses if they are complete by `now` and none had to be waited for; says whether.
    #[inline]
    pub fn let_go(&mut self, now: Ticks) -> bool {
        let over = !self.outlasts && self.loaded.max(self.last_commit) <= now;
        if over {
            self.loads.clear();
            while self.pop_store().is_some() {}
        }
        over
    }

    /// Retires what is done by `now`. Returns the CPU's time: later than `now` if it
    /// ran more than `window` past a load that was not done.
    #[inline]
    pub fn retire(&mut self, now: Ticks, window: Ticks) -> Ticks {
        if self.idle() || self.let_go(now) { now } else { self.retire_each(now, window) }
    }

    fn retire_each(&mut self, now: Ticks, window: Ticks) -> Ticks {
        let mut now = now;
        while let Some(load) = self.loads.front() {
            let furthest = load.issued.wrapping_add(self.stood_still) + window;
            if now <= furthest && now < load.done {
                break;
            }
            let stall = load.done.saturating_sub(furthest);
            if stall == 0 {
                self.loads.pop_front();
                continue;
            }
            let Some(load) = self.loads.pop_front() else { break };
            now += stall;
            self.blame(load.address, load.origin, stall);
            self.stands_still(stall);
        }
        self.outlasts &= !self.loads.is_empty();
        while self.stores.front().is_some_and(|s| s.commit <= now) {
            self.pop_store();
        }
        now
    }

    /// The oldest store leaves: its entries do so one by one, a cycle each, and until then loads are forwarded from them.
    fn pop_store(&mut self) -> Option<Store> {
        let store = self.stores.pop_front()?;
        self.entries -= store.entries;
        let begun = if self.recent.0 == store.line { self.recent.2.max(store.commit) } else { store.commit };
        self.recent = (store.line, store.mask, begun + u64::from(store.entries) * ticks(1));
        Some(store)
    }

    /// Waits for all loads, as an operation that must not be speculated does.
    pub fn await_loads(&mut self, now: Ticks, window: Ticks) -> Ticks {
        let mut now = self.retire(now, window);
        // The first of those that wait for the same line.
        if let Some(last) = self.loads.iter().rev().max_by_key(|l| l.done).copied() {
            self.blame(last.address, last.origin, last.done.saturating_sub(now));
            now = now.max(last.done);
        }
        self.loads.clear();
        self.outlasts = false;
        now
    }

    pub fn await_stores(&mut self, now: Ticks) -> Ticks {
        // The first of those that commit at once: the others only had to keep the order.
        if let Some(last) = self.stores.iter().rev().max_by_key(|s| s.commit).copied() {
            self.blame(last.address, last.origin, last.commit.saturating_sub(now));
        }
        self.stores.clear();
        self.entries = 0;
        now.max(self.last_commit)
    }

    fn blame(&mut self, address: u64, origin: u64, stall: Ticks) {
        if stall > 0 {
            self.blamed.push(Blame { address, origin, stall });
        }
    }

    /// Waits until `done`, for a load that delivers an address that is needed.
    pub fn await_load(&mut self, load: &Load, now: Ticks) -> Ticks {
        let stall = load.done.saturating_sub(now);
        self.blame(load.address, load.origin, stall);
        self.stands_still(stall);
        now + stall
    }

    /// The CPU waits for so long, whatever for. What it issues after that comes later.
    #[inline]
    pub fn stands_still(&mut self, stall: Ticks) {
        self.stood_still += stall;
    }

    /// The same for an access that is over and takes effect at `until`: [`crate::Outcome`]'s done, effect and stall.
    #[inline]
    pub fn waits(&mut self, now: Ticks, until: Ticks) -> (Ticks, Ticks, Ticks) {
        self.stands_still(until - now);
        (until, until, until - now)
    }

    /// Before this no store commits that is made now.
    pub fn commits_from(&self) -> Ticks {
        self.last_commit.max(self.loaded)
    }

    /// Begins a load that is done at `done` if nothing is in its way; with as many of them under way as there is `room`
    /// for, the oldest is awaited first. Returns the time at which the CPU goes on.
    #[inline]
    pub fn load(&mut self, access: &Access, line: u64, now: Ticks, done: Ticks, room: Room) -> Ticks {
        let (mut now, mut done) = (now, done);
        if self.loads.len() >= room.misses {
            (now, done) = self.await_oldest(now, done, room.longest);
        }
        self.pages.begin(room.misses);
        self.loaded = self.loaded.max(done);
        self.outlasts |= done > now + room.window;
        let Access { address, origin, .. } = *access;
        self.loads.push_back(Load { address, line, origin, issued: now.wrapping_sub(self.stood_still), done });
        now
    }

    /// Waits for the oldest load; moves on what would have been done at `done`: its way, but not what it waits for others. Else
    /// two CPUs that wait for each other's lines would add up their waits.
    #[cold]
    fn await_oldest(&mut self, now: Ticks, done: Ticks, longest: Ticks) -> (Ticks, Ticks) {
        let Some(oldest) = self.loads.pop_front() else { return (now, done) };
        let later = self.await_load(&oldest, now);
        // Only then does it leave the core.
        (later, done.max(later + longest.min(done - now)))
    }

    #[inline]
    pub fn may_deliver_near(&mut self, address: u64, read: impl Fn(&Load) -> u64) -> bool {
        let Some(youngest) = self.loads.back() else { return false };
        self.pages.add(read(youngest));
        self.pages.may_be_near(address)
    }

    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.loads.iter()
    }

    /// When the line arrives that a load of this CPU already asked for.
    pub fn loads_line(&self, line: u64, now: Ticks) -> Option<Ticks> {
        self.loads.iter().find(|l| l.line == line && l.done > now).map(|l| l.done)
    }

    /// The same of a load or store.
    pub fn awaited(&self, line: u64, now: Ticks) -> Option<Ticks> {
        self.loads_line(line, now)
            .or_else(|| self.stores.iter().find(|s| s.line == line && s.commit > now).map(|s| s.commit))
    }

    /// When a request to another core can leave this one, of which `limit` may be under way.
    pub fn leaves(&mut self, now: Ticks, limit: usize) -> Ticks {
        while self.transfers.front().is_some_and(|arrival| *arrival <= now) {
            self.transfers.pop_front();
        }
        let others = self.transfers.len();
        if others < limit { now } else { self.transfers[others - limit].max(now) }
    }

    pub fn transfers(&mut self, arrival: Ticks) {
        self.transfers.push_back(arrival);
    }

    pub fn touched_first(&mut self, line: u64, until: Ticks) {
        self.fresh = (line, until);
    }

    /// From when on a line that only this CPU has touched can be taken from it.
    pub fn owns_from(&self, line: u64) -> Ticks {
        let fresh = if self.fresh.0 == line { self.fresh.1 } else { 0 };
        let loads = self.loads.iter().filter(|load| load.line == line).map(|load| load.done);
        let stores = self.stores.iter().filter(|store| store.line == line).map(|store| store.commit);
        loads.chain(stores).fold(fresh, Ticks::max)
    }

    pub fn stored(&mut self, line: u64, mask: u64, until: Ticks) {
        self.recent = (line, mask, until);
    }

    pub fn has_just_stored(&self, line: u64, mask: u64, now: Ticks) -> bool {
        self.recent.0 == line && self.recent.1 & mask == mask && now <= self.recent.2
    }

    /// `lost`: even if it was stored while another core had the line. Else what a load under way will deliver may be part of
    /// what was stored, as where a word is incremented.
    pub fn forward(&self, line: u64, mask: u64, now: Ticks, lost: bool) -> Forward {
        match self.stores.iter().rev().find(|s| s.line == line && s.mask & mask != 0) {
            None => Forward::None,
            Some(s) if s.mask & mask == mask => match (!lost).then(|| self.loads_line(line, now)).flatten() {
                Some(arrival) => Forward::Later(arrival),
                None => Forward::All,
            },
            Some(s) => Forward::Later(s.commit),
        }
    }

    /// Adds a store to the youngest if that waits for the same line: those between two others must keep their order. Returns
    /// when the CPU goes on, which with all `capacity` entries taken is when the oldest is gone, and when the store commits.
    pub fn merge(
        &mut self,
        access: &Access,
        line: u64,
        mask: u64,
        now: Ticks,
        capacity: usize,
    ) -> Option<(Ticks, Ticks)> {
        self.stores.back().filter(|youngest| youngest.line == line)?;
        let now = self.room(now, capacity);
        let Some(youngest) = self.stores.back_mut() else {
            // Those before it, to the same line, have committed: the line is here.
            return Some((now, self.store(access, line, mask, now)));
        };
        youngest.mask |= mask;
        youngest.entries += 1;
        self.entries += 1;
        self.last_commit = self.commits_from();
        Some((now, self.last_commit))
    }

    /// Makes room for a store; returns when there is.
    pub fn room(&mut self, now: Ticks, capacity: usize) -> Ticks {
        if (self.entries as usize) < capacity {
            return now;
        }
        let Some(oldest) = self.pop_store() else { return now };
        let stall = oldest.commit.saturating_sub(now);
        self.blame(oldest.address, oldest.origin, stall);
        self.stands_still(stall);
        now + stall
    }

    /// Keeps the youngest store, which may be in the buffer already, until `until` at least.
    pub fn hold(&mut self, access: &Access, line: u64, mask: u64, until: Ticks) -> Ticks {
        match self.stores.back_mut().filter(|youngest| youngest.line == line) {
            Some(youngest) => {
                self.last_commit = self.last_commit.max(until);
                youngest.mask |= mask;
                youngest.commit = self.last_commit;
                self.last_commit
            }
            None => self.store(access, line, mask, until),
        }
    }

    /// Puts a store into the buffer whose line arrives at `arrival`; stores commit in order. Returns
    /// when it commits.
    pub fn store(&mut self, access: &Access, line: u64, mask: u64, arrival: Ticks) -> Ticks {
        self.last_commit = self.commits_from().max(arrival);
        let Access { address, origin, .. } = *access;
        self.entries += 1;
        self.stores.push_back(Store { line, entries: 1, address, origin, mask, commit: self.last_commit });
        self.last_commit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use proptest::prelude::*;

    const ROOM: Room = Room { misses: 3, window: 20, longest: 1000 };

    /// Loads and stores, each so long after the last, that take so long; what is to be retired before each. The clock after
    /// each, and all waits. `stood_still` is what the CPU has waited for before.
    fn run(stood_still: Ticks, accesses: &[(bool, Ticks, Ticks)]) -> (Vec<Ticks>, Vec<Blame>) {
        let mut cpu = Cpu::new();
        cpu.stands_still(stood_still);
        let (mut now, mut clocks) = (0, Vec::new());
        for (number, (load, after, takes)) in (1..).zip(accesses) {
            now = cpu.retire(now + after, ROOM.window);
            let access = Access { cpu: 0, address: number * 64, size: 8, kind: Kind::Load, origin: number };
            now = match load {
                true => cpu.load(&access, number, now, now + takes, ROOM),
                false => {
                    let now = cpu.room(now, 2);
                    cpu.store(&access, number, 1, now + takes);
                    now
                }
            };
            clocks.push(now);
        }
        now = cpu.await_loads(now, ROOM.window);
        clocks.push(cpu.await_stores(now));
        (clocks, cpu.blamed)
    }

    proptest! {
        /// Only what it waits from the begin of a load on counts. The time since then is that of all less that of before,
        /// which may be later than the clock: it wraps around.
        #[test]
        fn what_a_cpu_waited_for_before_changes_nothing(
            accesses in prop::collection::vec((any::<bool>(), 0u64..30, 0u64..100), 0..30), before in 1u64..1 << 62,
        ) {
            prop_assert_eq!(run(before, &accesses), run(0, &accesses));
        }
    }
}
