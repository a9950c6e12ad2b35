// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sentences on locks: who waits for them, and how often.
use super::stage::serial;
use crate::curve::Point;
use crate::finding::cause::SIGNIFICANT;
use crate::locks::{self, LockGroup, PassedOn, Shares, guards_sleepers, longest_share, mean_wait, shares};
use crate::units;
use corefold_explain::{LockUse, Place};
use corefold_recording::LockKind;

pub fn lock_sentence(point: &Point, lock: &LockGroup) -> String {
    let all = point.explained.run.time.total();
    let waited = lock.wait_cycles + indirectly(lock, all).map_or(0, |by| by.cycles);
    let share = units::about(units::share(waited, all));
    let name = lock.name();
    // A lock without a name is called by the function that waits for it.
    let place = lock.worst().waited_at.as_ref().filter(|p| !name.contains(&p.function));
    let place = place.map_or(String::new(), |p| format!(", longest in {p}"));
    let named = lock.name_with_kind();
    let several = lock.members(all).map_or(String::new(), |members| format!(" ({members})"));
    let meaning = match lock.kind {
        LockKind::Barrier => uneven(point, lock),
        LockKind::CondVar if lock.worst().may_be_barrier => {
            ". Two threads use it, in one of two ways: one waits for the \
                        other's output, which comes too slowly; or they meet at a barrier, and one arrives later."
                .into()
        }
        LockKind::CondVar if serial(point).is_some() || lock.worst().herd.is_some() => ".".into(),
        LockKind::CondVar => ". Either there is too little work, or who signals it is too slow.".into(),
        _ if guards_sleepers(lock.worst()) => counted(lock) + &sleepers(point, lock),
        _ => counted(lock),
    };
    format!(
        "{share} of thread time waits for the {named}{several}{place}{meaning}{}{}",
        passed_on(lock, all) + &woken(point, lock),
        all_locks(point, waited)
    )
}

/// How often they were taken; of one that is named alone, how often that was.
fn counted(lock: &LockGroup) -> String {
    if lock.is_for_one() {
        let worst = lock.worst();
        return taken("its", worst.acquisitions, worst.contended);
    }
    taken(if lock.locks.len() == 1 { "its" } else { "their" }, lock.acquisitions, lock.contended)
}

/// For which locks threads sleep in the lists that these guard: those that are waited for at the same place.
fn sleepers(point: &Point, lock: &LockGroup) -> String {
    let at = |of: &LockGroup, place: &Place| of.locks.iter().any(|lock| lock.waited_at.as_ref() == Some(place));
    // Of a lock that parks its threads there, the type has its crate's name.
    let parks =
        |lock: &LockUse| !guards_sleepers(lock) && lock.type_name.as_ref().is_some_and(|name| name.contains(' '));
    let mut others = locks::groups(point.explained).into_iter().filter(|other| parks(other.worst()));
    let beside = lock.worst().waited_at.as_ref().and_then(|place| others.find(|other| at(other, place)));
    let whose = beside.map_or(String::new(), |other| format!(": here, the {}", other.name_with_kind()));
    format!(" It guards one of parking_lot's lists of threads that sleep until a lock is free{whose}.")
}

/// How unevenly threads arrive at a barrier, and which arrives last.
fn uneven(point: &Point, lock: &LockGroup) -> String {
    let worst = lock.worst();
    let made =
        if worst.made { " It is a condition variable on which the last thread to arrive broadcasts." } else { "" };
    let Some(meetings) = worst.meetings.filter(|meetings| meetings.rounds > 0) else {
        return format!(".{made}");
    };
    let time = |cycles: f64| units::duration(cycles / point.explained.run.clock_hz.max(1) as f64);
    let wait = time(mean_wait(worst));
    let (threads, last) = (meetings.threads, meetings.last);
    let words = match shares(worst) {
        Shares::NotKnown => {
            format!("The {threads} threads meet once, and wait {wait} on average; thread {last} arrives last.")
        }
        Shares::Even => {
            let longest = time(longest_share(&meetings));
            format!(
                "The slowest of {threads} threads needs only {longest} more than the average between two rounds, but they wait {wait} \
                 on average: for the barrier's own updates and wake-ups."
            )
        }
        Shares::Uneven { .. } => {
            let often = units::about(units::share(meetings.last_rounds, meetings.rounds));
            let rounds = units::counted(meetings.rounds, "round");
            format!(
                "Threads arrive unevenly: they wait {wait} for the last of {threads}, on average; thread {last} is last in \
                 {often} of {rounds}."
            )
        }
    };
    format!(".{made} {words}")
}

/// Which condition variable wakes threads in vain.
fn woken(point: &Point, lock: &LockGroup) -> String {
    locks::herd(point.explained, lock).map_or(String::new(), |(lock, herd)| {
        let share = units::about(units::share(herd.again, herd.waits));
        format!(
            " {share} of {} at the condition variable {} began right after a wake-up there: broadcasts wake threads that \
             have nothing to do.",
            units::counts(herd.waits, "wait"),
            lock.name
        )
    })
}

/// The lock that most of those wait for whose wait is for this one in the end.
fn indirectly<'a>(lock: &'a LockGroup, all: u64) -> Option<&'a PassedOn> {
    lock.passed_on.as_ref().filter(|by| units::share(by.cycles, all) >= SIGNIFICANT)
}

fn passed_on(lock: &LockGroup, all: u64) -> String {
    indirectly(lock, all).map_or(String::new(), |by| {
        let share = units::about(units::share(by.cycles, lock.wait_cycles + by.cycles));
        let how = if by.by_way * 2 > by.cycles { ", by way of other locks" } else { "" };
        format!(" {share} of it is for {}, whose holder waits for {}{how}.", by.name, lock.name())
    })
}

/// The sum of all locks, where it is much larger than these: a thread that waits for one lock while it holds another makes
/// others wait.
fn all_locks(point: &Point, told: u64) -> String {
    let run = &point.explained.run;
    let groups = locks::groups(point.explained).into_iter().filter(|group| group.blamable > 0);
    let (count, waited) = groups.fold((0, 0), |(count, sum), g| (count + g.locks.len(), sum + g.blamable));
    if count < 2 || waited < told.saturating_mul(3) / 2 {
        return String::new();
    }
    format!(" All {count} locks together: {} of thread time.", units::about(units::share(waited, run.time.total())))
}

/// How many acquisitions there were, and how many of them had to wait.
pub fn taken(whose: &str, acquisitions: u64, contended: u64) -> String {
    match (acquisitions, contended) {
        (0, 0) => return ".".into(),
        (0, waits) => return format!(": {}.", units::counts(waits, "wait")),
        _ => {}
    }
    let contended = units::about(units::share(contended, acquisitions));
    format!(": {contended} of {whose} {} acquisitions had to wait.", units::count(acquisitions as f64))
}
