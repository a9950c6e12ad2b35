// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks are taken and released by the running thread: what [`LOCKS`] keeps of that.
use crate::counts::lock_table::LOCKS;
use crate::hot::hot;
use crate::scheduling::fiber::{callers_here, current};
use crate::state::scheduler::running_fiber;
use alloc::string::String;
use alloc::vec::Vec;
use corefold_model::Ticks;
use corefold_recording::LockKind;

/// So many calls around a wait are recorded: wrappers of locks are not deeper.
const CALLERS: usize = 8;

/// The lock at `address` was taken now, after a wait that began at `since` (or none).
pub fn acquired(address: u64, kind: LockKind, since: Option<Ticks>, pc: u64) {
    let now = hot().clock.get();
    let thread = running_fiber() as u32;
    let wait = LOCKS.with(|locks| {
        let counted_from = locks.counted_from;
        let record = locks.of_kind(address, kind);
        if record.has_holders() {
            if record.holders.is_empty() {
                record.held_since = now;
            }
            record.holders.push(thread);
            current().held.with(|held| held.takes(address, now));
        }
        if kind == LockKind::Barrier {
            record.meeting.leaves(thread, now);
        }
        // Whoever need not wait for a futex makes no call: how often it is taken is not known.
        record.counts.acquisitions += u64::from(kind != LockKind::Futex);
        let wait = now.saturating_sub(since?.max(counted_from));
        record.counts.waited(wait, pc, || callers_here(pc, CALLERS));
        Some(wait)
    });
    if let Some(wait) = wait {
        current().waited(address, wait, now);
    }
}

/// The running thread gives up to wait for the lock, which it has waited for since then: the time counts as any other wait.
pub fn gave_up(address: u64, kind: LockKind, since: Ticks, pc: u64) {
    let now = hot().clock.get();
    let wait = LOCKS.with(|locks| {
        let wait = now.saturating_sub(since.max(locks.counted_from));
        let counts = &mut locks.of_kind(address, kind).counts;
        counts.acquisitions += u64::from(kind != LockKind::Futex);
        counts.waited(wait, pc, || callers_here(pc, CALLERS));
        wait
    });
    current().waited(address, wait, now);
}

/// libc's own code has waited since `since` for one of its locks, and has it until it returns. The stand-ins may know
/// the lock already, by its name; and no call of ours says when it is released.
pub fn acquired_within(address: u64, since: Ticks, pc: u64) {
    let now = hot().clock.get();
    let wait = LOCKS.with(|locks| {
        let wait = now.saturating_sub(since.max(locks.counted_from));
        let known = locks.records.get(&address).is_some_and(|record| record.kind == LockKind::Library);
        let counts = &mut locks.of_kind(address, if known { LockKind::Library } else { LockKind::Futex }).counts;
        counts.acquisitions += u64::from(known);
        counts.waited(wait, pc, || callers_here(pc, CALLERS));
        wait
    });
    current().waited(address, wait, now);
}

/// The running thread, which has arrived then, begins to wait at a barrier or condition variable.
pub fn waits(address: u64, kind: LockKind, arrived: Ticks) {
    let (again, woke) = (current().woken_at.get() == address, current().woke_at.get() == address);
    let thread = running_fiber() as u32;
    LOCKS.with(|locks| locks.of_kind(address, kind).meeting.waits(thread, arrived, again, woke));
}

/// The running thread has been woken from a wait there.
pub fn awake(address: u64, kind: LockKind) {
    current().woken_at.set(address);
    let (thread, now) = (running_fiber() as u32, hot().clock.get());
    LOCKS.with(|locks| locks.of_kind(address, kind).meeting.leaves(thread, now));
}

/// The running thread, which has arrived then, has woken so many that wait there; `all`: as many as there were.
pub fn woke(address: u64, kind: LockKind, arrived: Ticks, woken: u32, all: bool) {
    let was_woken = current().woken_at.get() == address;
    current().woke_at.set(address);
    let thread = running_fiber() as u32;
    LOCKS.with(|locks| locks.of_kind(address, kind).meeting.woke(thread, arrived, woken, all, was_woken));
}

/// The same of a lock of libc's, which has no name in the program.
pub fn acquired_as(address: u64, kind: LockKind, since: Option<Ticks>, pc: u64, name: impl FnOnce() -> String) {
    acquired(address, kind, since, pc);
    LOCKS.with(|locks| {
        let record = locks.at(address, kind);
        if record.name.is_empty() {
            record.name = name();
        }
    });
}

/// Another object is at this address from now on. The old one's waits are kept.
pub fn begins_anew(address: u64) {
    LOCKS.with(|locks| {
        if let Some(record) = locks.records.remove(&address).filter(|r| r.counts.contended > 0) {
            locks.past.push(record.lock(address));
        }
    });
}

/// The lock was released now, by the running thread or, for some kinds, on behalf of another.
pub fn released(address: u64) {
    released_at(address, hot().clock.get());
}

/// The same by a store that takes effect at `time`.
pub fn released_at(address: u64, time: Ticks) {
    let thread = running_fiber() as u32;
    current().woken_at.set(0);
    current().woke_at.set(0);
    current().held.with(|held| held.lets_go(address));
    LOCKS.with(|locks| {
        let Some(record) = locks.records.get_mut(&address).filter(|record| !record.holders.is_empty()) else { return };
        let at = record.holders.iter().position(|h| *h == thread).unwrap_or(0);
        record.holders.swap_remove(at);
        if record.holders.is_empty() {
            record.counts.hold += time.saturating_sub(record.held_since);
        }
    });
}

/// The object was initialised or destroyed: nobody holds it. Its counts stay.
pub fn forgotten(address: u64) {
    LOCKS.with(|locks| {
        if let Some(record) = locks.records.get_mut(&address) {
            record.holders.clear();
        }
    });
}

/// Threads that hold the lock at `address`.
pub fn holders(address: u64) -> Vec<u32> {
    let mut holders = LOCKS.with(|locks| locks.records.get(&address).map(|r| r.holders.clone()).unwrap_or_default());
    holders.sort_unstable();
    holders.dedup();
    holders
}
