// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to try against a cause: what the field does about its kind. A direction, not a measurement.
use super::cause::{Cause, lock_on, spun_on};
use crate::curve::Point;
use crate::fields::{FieldRow, Shared, rows};
use crate::hot::{Group, Spot, groups, writes};
use crate::locks::{LockGroup, Shares, herd, rust_type, shares};
use corefold_explain::{HotLine, LockUse, Sharing, pattern};
use corefold_recording::{AccessKind, CpuSet, LockKind};
use std::collections::HashMap;

const SPLIT: &str = "hold it for less time, take it less often, or split what it guards";
const SLEPT_FOR: &str =
    "shorter holds of the locks that threads sleep for, fewer acquisitions, or a split of what they guard";
const PADDING: &str = "the padding";
const PARTS: &str = "a part for each CPU, or fewer updates";
const HAND_OVER: &str = "pass several items at a time";
const ONE_WRITER: &str = "fewer writes by the one writer, or none where the value stays the same";
const OWN: &str = "as each is written by one CPU, fewer reads of it on the others, or fewer writes";
const STORES: &str = "a part for each CPU, or store only when the value changes";
const READERS: &str = "for readers, a lock that they do not write to (RCU, a sequence count, a lock for each CPU)";
const SELDOM: &str = "meet less often, with more work between";
const EVEN: &str = "even out the threads' shares of the work";
const WRITERS: &str = "for writers, hold it for less time or split what it guards";
const UNITS: &str = "if it guards something, hold it for less time or split that; if it counts resources, more of them; if it \
                     is a signal, post sooner";
const SIGNAL: &str = "notify sooner, pass several items at a time, or wake only who can go on";
const PARKED: &str = "if they wait for a lock, hold it for less time or split what it guards; if for a signal, notify sooner, or pass several items at a time";
const ONE_LOCK: &str = "as these locks are handed over for longer than they are held, one lock in place of them";
const WAKE_ONE: &str = "wake only threads that can go on: pthread_cond_signal instead of a broadcast, or a condition variable for each kind of waiter";
const ONCE: &str = "initialise it before the threads need it, or do less in that";
const SHARDS: &str = "write less often, as a writer takes all shards";
const CALL: &str = "make that call less often, or keep its result where it has one";
const CLONES: &str = "fewer clones (pass a reference, or clone once for each thread), or a part for each CPU";

/// The sentence; empty where the cause says it already, or where nothing is known to help.
pub fn remedy(point: &Point, cause: &Cause) -> String {
    // What the few busy CPUs wait for is not why the others are idle.
    let (cause, against) = match cause {
        Cause::Idle(Some(second)) => (&**second, " against that wait"),
        other => (other, ""),
    };
    let what = match cause {
        Cause::Lock(lock) if herd(point.explained, lock).is_some() => Some(WAKE_ONE.to_owned()),
        Cause::Lock(lock) if is_handed_over(point, lock) => Some(format!("{SPLIT}; or, {ONE_LOCK}")),
        Cause::Lock(lock) if is_rwlock(lock.worst()) && !lock.worst().of_library => {
            Some(format!("{WRITERS}; {READERS}"))
        }
        Cause::Lock(lock) if lock.kind == LockKind::Barrier => Some(of_barrier(lock).to_owned()),
        Cause::Lock(lock) => {
            let groups = groups(point.explained);
            let on = groups.iter().find(|group| spun_on(lock.worst(), group));
            of_lock(lock.worst(), lock.acquisitions).map(|what| with_counts(what, lock.worst(), on))
        }
        Cause::Lines(group) => match lock_on(point, group).filter(|_| group.verdict.sharing != Sharing::False) {
            Some(lock) => of_lock(lock, lock.acquisitions).map(|what| with_counts(what, lock, Some(group))),
            None => of_group(point, group),
        },
        Cause::Idle(_) | Cause::ManyLines | Cause::Function(_) | Cause::Nothing => None,
    };
    what.map_or(String::new(), |what| format!("To try{against}: {what}."))
}

/// What helps the lock, and what is counted beside it `on` the same line, such as the arrivals at a barrier whose sense is
/// polled.
fn with_counts(what: String, lock: &LockUse, on: Option<&Group>) -> String {
    let polled = lock.kind == LockKind::SpunWord && lock.acquisitions == 0;
    match on.filter(|_| polled).and_then(of_lines) {
        Some(PARTS) => format!("{what}; for what is counted beside it, {PARTS}"),
        _ => what,
    }
}

/// Most of the wait is for locks whose holders wait for this one, and nobody holds it in more than half of the run: the rest is how
/// long it takes to pass it on.
fn is_handed_over(point: &Point, lock: &LockGroup) -> bool {
    let passed_on = lock.passed_on.as_ref().map_or(0, |by| by.cycles);
    let known = lock.locks.len() == 1 && lock.hold_cycles > 0;
    known && passed_on > lock.wait_cycles && lock.hold_cycles < point.explained.run.cycles / 2
}

fn is_rwlock(lock: &LockUse) -> bool {
    lock.kind == LockKind::RwLock || rust_type(lock) == "RwLock"
}

fn of_lock(lock: &LockUse, acquisitions: u64) -> Option<String> {
    if lock.of_library && lock.kind != LockKind::Library {
        return Some(CALL.to_owned());
    }
    if is_rwlock(lock) {
        return Some(format!("{READERS}; {WRITERS}"));
    }
    let what = match rust_type(lock) {
        // Nobody knows who comes last.
        "Barrier" | "WaitGroup" | "std::barrier" | "std::latch" => return Some(format!("{EVEN}, or {SELDOM}")),
        "Condvar" | "Notify" => SIGNAL,
        "Parker" | "ThreadParker" => PARKED,
        "Lazy" | "LazyLock" | "Once" | "OnceCell" | "OnceLock" => ONCE,
        "Semaphore" | "std::counting_semaphore" => UNITS,
        "ShardedLock" => SHARDS,
        "WordLock" => SLEPT_FOR,
        "Mutex" | "ReentrantMutex" | "ReentrantLock" => SPLIT,
        _ => of_kind(lock.kind, acquisitions, &lock.name)?,
    };
    Some(what.to_owned())
}

fn of_kind(kind: LockKind, acquisitions: u64, name: &str) -> Option<&'static str> {
    Some(match kind {
        LockKind::Mutex | LockKind::Spinlock => SPLIT,
        // A flag is spun on as well, and a futex waited for: nobody takes them.
        LockKind::SpunWord if acquisitions > 0 => SPLIT,
        LockKind::SpunWord | LockKind::Futex => {
            "if it is a lock, hold it for less time or split what it guards; if a flag, set it sooner"
        }
        LockKind::SpinQueue => {
            "if it is a lock, hold it for less time or split what it guards; if a list of idle threads, find them work sooner"
        }
        LockKind::Semaphore => UNITS,
        LockKind::Library => of_library(name),
        // The sentence on a condition variable names two readings.
        LockKind::CondVar | LockKind::Barrier | LockKind::RwLock => return None,
    })
}

/// Rounds of a barrier that threads hardly meet at.
const FEW: u64 = 5;

fn of_barrier(lock: &LockGroup) -> &'static str {
    // They hardly meet as it is, and in so few rounds who is last tells nothing.
    let few = lock.worst().meetings.is_some_and(|meetings| meetings.rounds < FEW);
    match shares(lock.worst()) {
        Shares::NotKnown | Shares::Uneven { by_chance: false } => EVEN,
        Shares::Uneven { by_chance: true } if few => EVEN,
        Shares::Even | Shares::Uneven { by_chance: true } => SELDOM,
    }
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
        CALL
    }
}

/// Where most of the wait is for fields that are merely beside each other, what helps the field that several CPUs use comes second.
fn of_group(point: &Point, group: &Group) -> Option<String> {
    let verdict = &group.verdict;
    if verdict.sharing != Sharing::Both || !group.is_mostly_false() || !verdict.separates {
        return of_lines(group).map(String::from);
    }
    let shared = |row: &FieldRow| matches!(row.sharing, Shared::True | Shared::Both) && !row.writers.is_empty();
    let rows = rows(group, point.explained);
    let field = rows.iter().filter(|row| shared(row)).max_by_key(|row| row.wait)?;
    let what = of_fields(group, |name| pattern(name) == pattern(&field.name))?;
    Some(format!("{PADDING}; then, for {}, {what}", field.name))
}

/// Of what several CPUs use; fields that are merely beside each other are separated by padding, as the verdict says.
fn of_lines(group: &Group) -> Option<&'static str> {
    match group.verdict.sharing {
        Sharing::True | Sharing::Both => of_fields(group, |_| true),
        Sharing::False | Sharing::ReadOnly | Sharing::Unknown => None,
    }
}

/// The same of the fields that are chosen.
fn of_fields(group: &Group, chosen: impl Fn(&str) -> bool) -> Option<&'static str> {
    let is_written = |field: &str| chosen(field) && group.verdict.written.iter().any(|name| name == field);
    let written = |spot: &&Spot| spot.writes() && spot.fields.iter().any(|field| is_written(field.0));
    let writers: Vec<&Spot> = group.sites.iter().filter(written).collect();
    let most = writers.iter().max_by_key(|spot| (spot.transfers, spot.wait()))?;
    let mut cpus = CpuSet::default();
    let often = writers.iter().filter(|spot| spot.transfers * RARELY >= most.transfers);
    often.for_each(|spot| cpus.add(&spot.cpus));
    // Each CPU has its part already.
    let own =
        group.lines.len() > 1 && cpus.len() > 1 && group.lines.iter().all(|line| is_of_one_writer(line, &is_written));
    Some(match most.kind {
        AccessKind::Rmw | AccessKind::SplitLock if group.verdict.written.iter().any(|name| is_count(name)) => CLONES,
        AccessKind::Rmw | AccessKind::SplitLock if own => OWN,
        AccessKind::Rmw | AccessKind::SplitLock => PARTS,
        _ if cpus.len() == 1 => ONE_WRITER,
        // Each word goes between two CPUs, as a message does.
        _ if group.verdict.users_each == 2 || group.verdict.users == 2 => HAND_OVER,
        _ if own => OWN,
        _ => STORES,
    })
}

/// Is each of the fields that are chosen written on one CPU only?
fn is_of_one_writer(line: &HotLine, chosen: &impl Fn(&str) -> bool) -> bool {
    let mut writers: HashMap<&str, CpuSet> = HashMap::new();
    for site in line.sites.iter().filter(|site| writes(site.kind) && chosen(&site.field)) {
        writers.entry(&site.field).or_default().add(&site.cpus);
    }
    writers.values().all(|cpus| cpus.len() == 1)
}

/// Of references, which clones and drops of an `Arc` update.
fn is_count(field: &str) -> bool {
    field.starts_with("ArcInner<") && (field.ends_with(">.strong") || field.ends_with(">.weak"))
}

/// Places that cause less than this fraction of the most frequent writer's transfers write rarely, as who sets a value up.
const RARELY: u64 = 100;
