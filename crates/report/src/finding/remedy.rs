// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to try against a cause: what the field does about its kind. A direction, not a measurement.
use super::{Cause, lock_on};
use crate::curve::Point;
use crate::hot::{Group, Spot};
use corefold_explain::Sharing;
use corefold_recording::{AccessKind, CpuSet, LockKind};

const SPLIT: &str = "hold it for less time, take it less often, or split what it guards";
const PARTS: &str = "a part for each CPU, added up by who reads, or fewer updates";
const ONE_WRITER: &str = "write it less often, or only when its value changes";
const HAND_OVER: &str = "hand over more at once";
const STORES: &str = "a part for each CPU, or store only when the value changes";

/// The sentence; empty where the cause says it already, or where nothing is known to help.
pub fn remedy(point: &Point, cause: &Cause) -> String {
    let what = match cause {
        Cause::Lock(lock) => of_lock(lock.kind, lock.acquisitions, &lock.name()),
        Cause::Lines(group) => match lock_on(point, group).filter(|_| group.verdict.sharing != Sharing::False) {
            Some(lock) => of_lock(lock.kind, lock.acquisitions, &lock.name),
            None => of_lines(group),
        },
        Cause::Idle(Some(second)) => return remedy(point, second),
        Cause::Idle(None) | Cause::ManyLines | Cause::Function(_) | Cause::Nothing => None,
    };
    what.map_or(String::new(), |what| format!("To try: {what}."))
}

fn of_lock(kind: LockKind, acquisitions: u64, name: &str) -> Option<&'static str> {
    Some(match kind {
        LockKind::Mutex | LockKind::Spinlock => SPLIT,
        // A flag is spun on as well, and nobody takes it.
        LockKind::SpunWord if acquisitions > 0 => SPLIT,
        LockKind::SpunWord => {
            "if it is a lock, hold it for less time or split what it guards; if a flag, set it sooner"
        }
        LockKind::RwLock => {
            "for readers, a lock that they do not write to (RCU, a sequence count, a lock for each CPU); for writers, hold \
             it for less time or split what it guards"
        }
        LockKind::Semaphore => "more units, or some for each CPU",
        LockKind::Barrier => "even out the threads' shares of the work",
        LockKind::Library => of_library(name),
        // Its sentence names both readings.
        LockKind::CondVar | LockKind::Futex => return None,
    })
}

/// By the name that the runtime gives the lock.
fn of_library(name: &str) -> &'static str {
    if name.contains("lock of stream") {
        "a stream, or a larger buffer, for each thread"
    } else if name.contains("rand()") {
        "a generator for each thread (rand_r)"
    } else if name.contains("arena") {
        "an allocator that caches for each thread, or fewer and larger allocations"
    } else {
        "call it less often, or keep its result for each thread"
    }
}

/// Of what several CPUs use; fields that are merely beside each other are separated by padding, as the verdict says.
fn of_lines(group: &Group) -> Option<&'static str> {
    if !matches!(group.verdict.sharing, Sharing::True | Sharing::Both) {
        return None;
    }
    let written = |spot: &&Spot| {
        spot.writes() && spot.fields.iter().any(|field| group.verdict.written.iter().any(|name| name == field.0))
    };
    let writers: Vec<&Spot> = group.sites.iter().filter(written).collect();
    let most = writers.iter().max_by_key(|spot| (spot.transfers, spot.wait()))?;
    let mut cpus = CpuSet::default();
    let often = writers.iter().filter(|spot| spot.transfers * RARELY >= most.transfers);
    often.for_each(|spot| cpus.add(&spot.cpus));
    Some(match most.kind {
        // Each word goes between two CPUs, as a message does.
        _ if group.verdict.users_each == 2 && group.verdict.users > 2 => HAND_OVER,
        _ if cpus.len() == 1 => ONE_WRITER,
        AccessKind::Rmw | AccessKind::SplitLock => PARTS,
        _ => STORES,
    })
}

/// Places that cause less than this fraction of the most frequent writer's transfers write rarely, as who sets a value up.
const RARELY: u64 = 100;
