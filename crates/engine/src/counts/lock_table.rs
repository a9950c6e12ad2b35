// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of each lock: acquisitions, waits and holds, and the threads that hold it now.
use crate::carrier::Carrier;
use crate::counts::early::Wait;
use crate::counts::meetings::Meeting;
use crate::counts::sites::SITES;
use crate::hot::hot;
use crate::state::scheduler::running_fiber;
use crate::storage::relayout::tag_of;
use alloc::string::String;
use alloc::vec::Vec;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use corefold_recording::{Lock, LockKind, Object};
use corefold_sim::{Queue, Takes};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

pub struct Record {
    pub kind: LockKind,
    /// What it is called, if it is libc's.
    pub name: String,
    pub object: Option<Object>,
    pub counts: Counts,
    /// Threads that hold it, each as often as it has taken it.
    pub holders: Vec<u32>,
    /// Since when somebody has.
    pub held_since: Ticks,
    pub meeting: Meeting,
    /// Of words that are spun on.
    pub takes: Takes,
    /// Which threads last began to spin on it, two different ones, and when; who last ceased to.
    pub begun: [By; 2],
    pub ceased: By,
    /// Which have begun and not ceased.
    pub spinning: Vec<u32>,
    /// Of a word of which an exchange may join a queue: who did.
    pub joined: Joined,
}

/// A thread, and when.
#[derive(Clone, Copy)]
pub struct By {
    thread: u32,
    at: Ticks,
}

const NOBODY: By = By { thread: u32::MAX, at: 0 };

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    Nobody,
    One(u32),
    Several,
}

#[derive(Default)]
pub struct Counts {
    pub acquisitions: u64,
    pub contended: u64,
    pub wait: Ticks,
    pub hold: Ticks,
    /// Other locks that a thread waited for while it alone held this one, by address, and for how long.
    pub held_waiting: Vec<(u64, Ticks)>,
    pub longest_wait: Ticks,
    pub wait_pc: u64,
    pub callers: Vec<u64>,
    /// Of the tail of a queue of spinning threads: the word that one of them spun on longest.
    pub spun_on: Option<u64>,
}

pub struct Locks {
    pub records: HashMap<u64, Record, FxBuildHasher>,
    /// Of objects that were at the same address before.
    pub past: Vec<Lock>,
    /// Words that are spun on, and those that may be held now, by [`Locks::slot`]: filters that most updates and stores
    /// do not pass.
    pub spun: [bool; SLOTS],
    pub held: [bool; SLOTS],
    /// When the region of interest began: waits count from then on.
    pub counted_from: Ticks,
}

pub static LOCKS: Carrier<Locks> = Carrier::new(Locks {
    records: HashMap::with_hasher(FxBuildHasher),
    past: Vec::new(),
    spun: [false; SLOTS],
    held: [false; SLOTS],
    counted_from: 0,
});

const SLOTS: usize = 256;

impl Locks {
    fn slot(address: u64) -> usize {
        (address >> 2 ^ address >> 8) as usize % SLOTS
    }

    pub fn at(&mut self, address: u64, kind: LockKind) -> &mut Record {
        self.records.entry(address).or_insert_with(|| Record {
            kind,
            name: String::new(),
            object: object_at(address),
            counts: Counts::default(),
            holders: Vec::new(),
            held_since: 0,
            meeting: Meeting::default(),
            takes: Takes::default(),
            begun: [NOBODY; 2],
            ceased: NOBODY,
            spinning: Vec::new(),
            joined: Joined::Nobody,
        })
    }

    /// The record of a lock of this kind.
    pub fn of_kind(&mut self, address: u64, kind: LockKind) -> &mut Record {
        let record = self.at(address, kind);
        if record.kind != kind {
            // Another object lay here before, or threads spun on the lock before it was first taken: as they do before they
            // sleep, where it is a futex.
            let spun = (record.kind, kind) == (LockKind::SpunWord, LockKind::Futex);
            let counts = core::mem::take(&mut record.counts);
            record.kind = kind;
            record.object = object_at(address);
            record.name.clear();
            record.counts = if spun { Counts { spun_on: None, ..counts } } else { Counts::default() };
            record.meeting = Meeting::default();
            record.holders.clear();
            record.spinning.clear();
            record.takes = Takes::default();
        }
        record
    }

    /// The running thread begins to spin on this word.
    pub fn spins(&mut self, address: u64) {
        let slot = Self::slot(address);
        let record = self.at(address, LockKind::SpunWord);
        if record.kind == LockKind::SpunWord {
            let thread = running_fiber() as u32;
            record.takes.looks(thread);
            if record.begun[0].thread != thread {
                record.begun[1] = record.begun[0];
            }
            record.begun[0] = By { thread, at: hot().clock.get() };
            if !record.spinning.contains(&thread) {
                record.spinning.push(thread);
            }
            self.spun[slot] = true;
        }
    }

    /// The running thread looks at the word after it has updated it: the update has not taken it.
    #[inline]
    pub fn not_taken(&mut self, address: u64) {
        if self.spun[Self::slot(address)]
            && let Some(record) = self.records.get_mut(&address)
        {
            record.takes.looks(running_fiber() as u32);
        }
    }

    /// What the running thread, which has spun on `word` since `begin`, has waited for: the queue, or the word if others spun
    /// on it as well.
    pub fn awaited(&mut self, word: u64, begin: Ticks, queue: Option<Queue>) -> u64 {
        let by = By { thread: running_fiber() as u32, at: hot().clock.get() };
        let record = self.at(word, LockKind::SpunWord);
        let beside = |other: &By| other.thread != by.thread && other.at > begin;
        record.spinning.retain(|thread| *thread != by.thread);
        let alone = record.spinning.is_empty() && !record.begun.iter().chain([&record.ceased]).any(beside);
        record.ceased = by;
        let Some(queue) = queue.filter(|_| alone) else { return word };
        let tail = self.at(queue.tail, LockKind::SpunWord);
        tail.joined = match tail.joined {
            Joined::Nobody => Joined::One(by.thread),
            Joined::One(other) if other != by.thread => Joined::Several,
            known => known,
        };
        let is_queue = tail.kind == LockKind::SpunWord && (!queue.numbered || tail.joined == Joined::Several);
        if is_queue { queue.tail } else { word }
    }

    /// A thread has waited for this by spinning on `word`. Returns whether that counts: not for a lock whose calls count the wait.
    pub fn spun(&mut self, address: u64, word: u64, time: Ticks, pc: u64, callers: &[u64]) -> bool {
        let record = self.at(address, LockKind::SpunWord);
        let counts = matches!(record.kind, LockKind::SpunWord | LockKind::Futex);
        if counts {
            let callers = || callers.iter().copied().filter(|pc| *pc != 0).collect();
            if record.counts.waited(time, pc, callers) {
                let in_queue = word != address && record.kind == LockKind::SpunWord;
                record.counts.spun_on = in_queue.then_some(word);
            }
        }
        counts
    }

    /// A read-modify-write of the running thread changed the word so: if threads spin on it, that may take or release it.
    /// `again`: it has stored nothing since its last update of the word. Returns whether this releases it.
    #[inline]
    pub fn updated(&mut self, address: u64, change: (u64, u64), again: bool) -> bool {
        let slot = Self::slot(address);
        self.spun[slot] && self.takes_or_releases(address, change, again)
    }

    fn takes_or_releases(&mut self, address: u64, change: (u64, u64), again: bool) -> bool {
        let Some(record) = self.records.get_mut(&address) else { return false };
        // Of one slot with a word that is spun on, but not itself: the tail of a queue.
        if record.kind != LockKind::SpunWord || record.begun[0].thread == NOBODY.thread {
            return false;
        }
        let released = record.takes.updated(running_fiber() as u32, change, again, hot().clock.get());
        // Two words of one slot: the filter lets stores to either pass.
        self.held[Self::slot(address)] |= record.takes.any();
        released
    }

    /// The running thread has stored to the word, which takes effect at `effect`: if it holds it, that releases it.
    #[inline]
    pub fn stored(&mut self, address: u64, effect: Ticks) {
        if self.held[Self::slot(address)] {
            self.let_go(address, effect);
        }
    }

    fn let_go(&mut self, address: u64, effect: Ticks) {
        let Some(record) = self.records.get_mut(&address) else { return };
        if record.kind == LockKind::SpunWord {
            record.takes.stored(running_fiber() as u32, effect);
        }
    }

    /// Forgets all counts: the region of interest begins. What is held stays held.
    pub fn clear(&mut self) {
        let now = hot().clock.get();
        self.counted_from = now;
        self.past.clear();
        self.records.retain(|_, r| !r.holders.is_empty() || r.kind == LockKind::SpunWord);
        for record in self.records.values_mut() {
            record.takes.clear(now);
            record.counts = Counts::default();
            record.meeting = Meeting::default();
            record.held_since = now;
        }
    }

    /// Words that threads polled and nobody wrote are no locks.
    pub fn forget_unwritten(&mut self) {
        let written = |address: u64| {
            let line = tag_of(address).record_index();
            line.is_none_or(|line| SITES.with(|sites| sites.was_written(line, address)))
        };
        self.records.retain(|address, record| record.kind != LockKind::SpunWord || written(*address));
    }

    /// `thread`, which has taken the lock at `address`, has waited so long for another. It may not hold the lock any more, as another
    /// thread has released it, or not alone.
    pub fn waited_within(&mut self, address: u64, thread: u32, other: u64, wait: Ticks) {
        let Some(record) = self.records.get_mut(&address) else { return };
        if !record.holders.is_empty() && record.holders.iter().all(|holder| *holder == thread) {
            record.counts.held_waiting(other, wait);
        }
    }

    /// Objects that were at addresses where others are by now.
    pub fn past_objects(&self) -> usize {
        self.past.len()
    }

    /// In the order of their wait, the longest first. `early`: the start-up waits of all threads.
    pub fn all(&self, early: impl Iterator<Item = Wait>) -> Vec<Lock> {
        let used = self.records.iter().filter(|(_, r)| r.counts.acquisitions > 0 || r.counts.contended > 0);
        let mut past = self.past.clone();
        let mut records: HashMap<u64, Lock, FxBuildHasher> = used.map(|(a, r)| (*a, r.lock(*a))).collect();
        for wait in early {
            let replaced = past.iter_mut().skip(wait.past).find(|lock| lock.address == wait.address);
            if let Some(lock) = replaced.or_else(|| records.get_mut(&wait.address)) {
                lock.start_cycles = (lock.start_cycles + wait.ticks / TICKS_PER_CYCLE).min(lock.wait_cycles);
            }
        }
        let mut locks: Vec<Lock> = records.into_values().chain(past).collect();
        locks.sort_by_key(|l| (core::cmp::Reverse(l.wait_cycles), l.address));
        locks
    }
}

fn object_at(address: u64) -> Option<Object> {
    crate::storage::objects::objects_on(address, 1).pop()
}

/// Of so many locks that a thread waits for while it holds one, it is known how long it does.
const WITHIN: usize = 64;

impl Counts {
    fn held_waiting(&mut self, other: u64, wait: Ticks) {
        if let Some((_, waited)) = self.held_waiting.iter_mut().find(|(address, _)| *address == other) {
            *waited += wait;
        } else if self.held_waiting.len() < WITHIN {
            self.held_waiting.push((other, wait));
        }
    }

    /// `callers`: the calls around the one that returns to `pc`, which are looked up where they are needed. Returns whether
    /// this is the longest wait so far.
    pub fn waited(&mut self, wait: Ticks, pc: u64, callers: impl Fn() -> Vec<u64>) -> bool {
        self.contended += 1;
        self.wait += wait;
        let longest = self.wait_pc == 0 || wait > self.longest_wait;
        if longest {
            self.longest_wait = wait;
            (self.wait_pc, self.callers) = (pc, callers());
        }
        longest
    }
}

impl Record {
    /// Acquisitions, and ticks held. Of a word that is spun on, both are known if updates of it end all waits for it, and one thread
    /// at a time has it: not if it is a flag or a count, or says whose turn it is.
    fn taken(&self) -> (u64, Ticks) {
        match self.kind {
            LockKind::SpunWord if self.takes.count < self.counts.contended || !self.takes.exclude() => (0, 0),
            LockKind::SpunWord => (self.takes.count, self.takes.held),
            _ => (self.counts.acquisitions, self.counts.hold),
        }
    }

    pub fn lock(&self, address: u64) -> Lock {
        let (acquisitions, hold) = self.taken();
        Lock {
            address,
            kind: if self.counts.spun_on.is_some() { LockKind::SpinQueue } else { self.kind },
            name: self.name.clone(),
            object: self.object.clone(),
            spun_on: self.counts.spun_on,
            acquisitions,
            contended: self.counts.contended,
            wait_cycles: self.counts.wait / TICKS_PER_CYCLE,
            start_cycles: 0,
            hold_cycles: hold / TICKS_PER_CYCLE,
            held_waiting: self.counts.held_waiting.iter().map(|(at, ticks)| (*at, ticks / TICKS_PER_CYCLE)).collect(),
            wait_pc: self.counts.wait_pc,
            wait_callers: self.counts.callers.clone(),
            meetings: self.meeting.counts(),
        }
    }

    pub fn has_holders(&self) -> bool {
        matches!(self.kind, LockKind::Mutex | LockKind::RwLock | LockKind::Spinlock | LockKind::Library)
    }
}
