//! What is known of each lock: how often it was taken, and waited for.
use crate::engine::engine;
use crate::hot::hot;
use alloc::vec::Vec;
use corefold_model::{TICKS_PER_CYCLE, Ticks};
use corefold_recording::{Lock, LockKind, Object};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

struct Record {
    kind: LockKind,
    object: Option<Object>,
    acquisitions: u64,
    contended: u64,
    wait: Ticks,
    hold: Ticks,
    held_since: Ticks,
    longest_wait: Ticks,
    wait_pc: u64,
}

#[derive(Default)]
pub struct Locks {
    records: HashMap<u64, Record, FxBuildHasher>,
    any_spun: bool,
}

impl Locks {
    fn at(&mut self, address: u64, kind: LockKind) -> &mut Record {
        self.records.entry(address).or_insert_with(|| Record {
            kind,
            object: crate::heap::objects_on(address, 1).pop(),
            acquisitions: 0,
            contended: 0,
            wait: 0,
            hold: 0,
            held_since: 0,
            longest_wait: 0,
            wait_pc: 0,
        })
    }

    /// Threads spun on this word, and no more; it is noted at the first spin.
    pub fn spun(&mut self, address: u64, wait: Ticks, pc: u64) {
        let record = self.at(address, LockKind::SpunWord);
        if record.kind != LockKind::SpunWord {
            return;
        }
        record.contended += 1;
        record.acquisitions = record.acquisitions.max(record.contended);
        record.wait += wait;
        if wait >= record.longest_wait {
            record.longest_wait = wait;
            record.wait_pc = pc;
        }
        self.any_spun = true;
    }

    /// A read-modify-write changed the word from zero: if threads spin on it, that is how it is taken.
    #[inline]
    pub fn taken(&mut self, address: u64) {
        if self.any_spun
            && let Some(record) = self.records.get_mut(&address)
            && record.kind == LockKind::SpunWord
        {
            record.acquisitions += 1;
        }
    }

    pub fn clear(&mut self) {
        self.records.clear();
    }

    /// In the order of their wait, the longest first.
    pub fn all(&self) -> Vec<Lock> {
        let cycles = |t: Ticks| t / TICKS_PER_CYCLE;
        let mut locks: Vec<Lock> = self.records.iter().map(|(address, r)| Lock {
            address: *address,
            kind: r.kind,
            object: r.object.clone(),
            acquisitions: r.acquisitions,
            contended: r.contended,
            wait_cycles: cycles(r.wait),
            hold_cycles: cycles(r.hold),
            wait_pc: r.wait_pc,
        }).collect();
        locks.sort_by_key(|l| (core::cmp::Reverse(l.wait_cycles), l.address));
        locks
    }
}

/// The lock at `address` was taken now, after a wait that began at `since` (or none).
pub fn acquired(address: u64, kind: LockKind, since: Option<Ticks>, pc: u64) {
    let now = hot!().clock;
    let record = engine().locks.at(address, kind);
    record.acquisitions += 1;
    record.held_since = now;
    if let Some(since) = since {
        let wait = now.saturating_sub(since);
        record.contended += 1;
        record.wait += wait;
        if wait >= record.longest_wait {
            record.longest_wait = wait;
            record.wait_pc = pc;
        }
    }
}

/// The lock is about to be let go.
pub fn released(address: u64) {
    let now = hot!().clock;
    if let Some(record) = engine().locks.records.get_mut(&address) {
        record.hold += now.saturating_sub(record.held_since);
    }
}
