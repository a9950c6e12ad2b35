// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks by name.
use crate::callers;
use crate::code::Frame;
use crate::dwarf::cpp_lock::cpp_type;
use crate::memory::{Found, Memory, Spoken, spot_name};
use crate::space::Space;
use crate::types::{Herd, LockUse, Storage, base_name, lock_kind_name};
use corefold_recording::{Lock, LockKind, Meetings, Run};

/// The locks of a run, those that were waited for longest first.
pub(crate) fn locks(run: &Run, space: &Space<'_>, memory: &Memory<'_>) -> Vec<LockUse> {
    let mut locks: Vec<LockUse> = run.locks.iter().map(|lock| lock_use(lock, space, memory)).collect();
    locks.sort_by(|a, b| {
        let order = |lock: &LockUse| (lock.wait_cycles, lock.contended, lock.acquisitions);
        order(b).cmp(&order(a)).then(a.address.cmp(&b.address))
    });
    locks
}

fn lock_use(lock: &Lock, space: &Space<'_>, memory: &Memory<'_>) -> LockUse {
    let calls = std::iter::once(&lock.wait_pc).chain(&lock.wait_callers).filter(|pc| **pc != 0);
    let frames = callers::frames(space, calls);
    let innermost = space.callers_at(lock.wait_pc).len();
    let waited_at = (!frames.is_empty()).then(|| callers::in_own_packages(&frames, innermost));
    let given = (!lock.name.is_empty()).then(|| (lock.name.clone(), None));
    let known = || {
        let named = memory_name(lock, memory, frames.iter().any(is_parker))?;
        Some(if named.0.starts_with(POOL) { pooled(&frames).unwrap_or(named) } else { named })
    };
    let named = given.or_else(|| Some((openmp_name(lock, space)?, None))).or_else(known);
    let (name, type_name) = named.unwrap_or_else(|| {
        let at = waited_at.as_ref().map(|place| format!(" waited for in {}", place.function)).unwrap_or_default();
        (format!("{} at {:#x}{at}", lock_kind_name(lock.kind), lock.address), None)
    });
    let used = (lock.kind == LockKind::CondVar).then(|| used_as(&lock.meetings));
    let made = used == Some(Used::Barrier);
    let kind = if made { LockKind::Barrier } else { lock.kind };
    LockUse {
        name,
        kind,
        type_name,
        of_library: space.spot(lock.address).is_some_and(|spot| spot.is_library()),
        address: lock.address,
        spun_on: lock.spun_on,
        acquisitions: lock.acquisitions,
        contended: lock.contended,
        wait_cycles: lock.wait_cycles,
        start_cycles: lock.start_cycles,
        hold_cycles: lock.hold_cycles,
        held_waiting: lock.held_waiting.clone(),
        waited_at,
        meetings: Some(lock.meetings).filter(|_| kind == LockKind::Barrier),
        herd: herd(&lock.meetings).filter(|_| kind == LockKind::CondVar),
        made,
        may_be_barrier: used == Some(Used::Either),
    }
}

/// Where threads of C++ sleep that wait for an atomic object, or what is made of one: a few words for all, by the object's address.
const POOL: &str = "_S_for::__w[";

/// Of these, what a thread with these frames waits for: by the function of the library that the program calls.
fn pooled(frames: &[Frame]) -> Option<(String, Option<String>)> {
    let own = frames.iter().position(|frame| !frame.is_standard_library())?;
    let called = &frames[own.checked_sub(1)?].function;
    Some((called.clone(), cpp_type(called)))
}

/// A thundering herd: a wake-up wakes two threads or more on average, and most of them wait again.
fn herd(meetings: &Meetings) -> Option<Herd> {
    let Meetings { waits, again, wakes, .. } = *meetings;
    (wakes > 0 && waits >= wakes.saturating_mul(2) && again.saturating_mul(2) >= waits).then_some(Herd { waits, again })
}

/// What threads use a condition variable for.
#[derive(Debug, PartialEq, Eq)]
enum Used {
    Barrier,
    /// To wait for work, or for their turn.
    Other,
    /// What is recorded fits both.
    Either,
}

/// A barrier: each wake-up wakes all threads that use it, repeatedly, and woken threads continue. (Threads that wait for
/// their turn, or for work, wait again.)
fn used_as(meetings: &Meetings) -> Used {
    let nearly_all = |part: u64, whole: u64| part * 10 >= whole * 9;
    let hardly_any = |part: u64, whole: u64| part * 10 < whole;
    let go_on = meetings.waits.saturating_sub(meetings.again);
    if meetings.rounds <= 1 || !nearly_all(meetings.rounds, meetings.wakes) || !nearly_all(go_on, meetings.waits) {
        return Used::Other;
    }
    // Threads that begin and end together, by the order of one that does not wait for them, have met nowhere.
    if meetings.rounds <= 2 && meetings.waiters < meetings.threads && meetings.last_rounds == meetings.rounds {
        return Used::Other;
    }
    if meetings.threads > 2 {
        return Used::Barrier;
    }
    // Two that hand something to each other wake and wait under one hold of the lock.
    if !hardly_any(meetings.handed_over, meetings.wakes) {
        return Used::Other;
    }
    // At a barrier the last to arrive changes without order. If it is always the same thread, it may as well make what the
    // other takes; if each is in turn, they may hand something over.
    let always_one = nearly_all(meetings.last_rounds, meetings.rounds);
    let in_turn = hardly_any(meetings.same_again, meetings.rounds);
    if always_one || in_turn { Used::Either } else { Used::Barrier }
}

/// A futex that OpenMP's runtime waits for where no code of the program's has called it: the threads of a team
/// have done their part of a region. (Elsewhere the place in the program tells what it is.)
fn openmp_name(lock: &Lock, space: &Space<'_>) -> Option<String> {
    const RUNTIMES: [&str; 3] = ["libgomp.so", "libomp.so", "libiomp5.so"];
    let spot = space.spot(lock.wait_pc).filter(|_| lock.kind == LockKind::Futex)?;
    let file = base_name(&spot.module.path);
    let is_openmp = RUNTIMES.iter().any(|name| file.starts_with(name));
    is_openmp.then(|| format!("futex of OpenMP threads without work ({:#x})", lock.address))
}

/// Of `std::thread::park`, and of what std's channels wait by. It lies in an object of std's compiled part, whose type no
/// debug information has.
fn is_parker(frame: &Frame) -> bool {
    frame.file.as_deref().is_some_and(|file| file.contains("/std/src/sys/sync/thread_parking/"))
}

/// What the memory it lies in is called, and the type of a lock of Rust; `None` where that has no name.
fn memory_name(lock: &Lock, memory: &Memory<'_>, parker: bool) -> Option<(String, Option<String>)> {
    let found = memory.at(lock.address, 1, lock.object.as_slice());
    let made = made_alone(&found).unwrap_or_default();
    Some(match found.spoken()? {
        Spoken::Field { name, function: Some(function), lock } => (format!("{name} in {function}"), lock),
        Spoken::Field { name, function: None, lock } => (name + &made, lock),
        Spoken::Place(_) if parker => (format!("Parker of a thread ({:#x})", lock.address), Some("Parker".to_owned())),
        Spoken::Place(place) => (format!("{} {place}", lock_kind_name(lock.kind)), None),
    })
}

/// ` at pool.c:9` of a heap object that is a lock and nothing else, or an array of these: its type does not say which it is.
fn made_alone(found: &Found) -> Option<String> {
    let kind = |name: &str| name.split('[').next().map(str::to_owned);
    let object = Some(&found.object).filter(|object| object.storage == Storage::Heap)?;
    let alone = kind(object.type_name.as_deref()?) == kind(&found.field.name);
    Some(format!(" at {}", spot_name(object.origin.as_ref().filter(|_| alone)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two threads, 100 rounds.
    fn two(last_rounds: u64, same_again: u64, handed_over: u64) -> Used {
        let counts = Meetings { threads: 2, waiters: 2, waits: 100, wakes: 100, rounds: 100, ..Meetings::default() };
        used_as(&Meetings { last_rounds, same_again, handed_over, ..counts })
    }

    #[test]
    fn threads_that_one_starts_and_stops_meet_nowhere() {
        let by_one = Meetings { threads: 9, waiters: 8, waits: 16, wakes: 2, rounds: 2, ..Meetings::default() };
        assert_eq!(used_as(&Meetings { last_rounds: 2, ..by_one }), Used::Other);
        assert_eq!(used_as(&Meetings { last_rounds: 1, waiters: 9, ..by_one }), Used::Barrier);
        assert_eq!(used_as(&Meetings { last_rounds: 9, waits: 72, wakes: 9, rounds: 9, ..by_one }), Used::Barrier);
    }

    #[test]
    fn what_two_threads_use_a_condition_variable_for() {
        assert_eq!(two(60, 45, 0), Used::Barrier);
        assert_eq!(two(50, 0, 100), Used::Other, "each is woken and wakes the other");
        assert_eq!(two(60, 45, 50), Used::Other);
        assert_eq!(two(50, 0, 0), Used::Either, "in turn");
        assert_eq!(two(100, 99, 0), Used::Either, "always the same");
    }
}
