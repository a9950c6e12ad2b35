// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks, brought together by name: a hash table's thousand locks are one row, and one cause.
use crate::units;
use corefold_explain::{Explained, Herd, LockUse, RunFacts, lock_kind_name, one_name, pattern};
use corefold_recording::{LockKind, Meetings};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Elements of one array, or fields of like objects, that are locks of one kind.
#[derive(Debug)]
pub struct LockGroup<'a> {
    /// Those that were waited for longest first.
    pub locks: Vec<&'a LockUse>,
    pub kind: LockKind,
    /// 0: not known of all.
    pub acquisitions: u64,
    pub contended: u64,
    pub wait_cycles: u64,
    pub hold_cycles: u64,
    /// Cycles waited that say something against them: of all, and of the one that has most (parkers of one place are one). Who
    /// waits for a lock while its holder waits for another waits for that one.
    pub blamable: u64,
    pub worst_blamable: u64,
    /// Of `blamable`, the most that threads waited for another lock, or those of another name.
    pub passed_on: Option<PassedOn>,
}

impl<'a> LockGroup<'a> {
    pub fn worst(&self) -> &'a LockUse {
        self.locks[0]
    }

    /// `table[0-999].lock`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.locks.iter().map(|lock| lock.name.as_str()).collect();
        match names.as_slice() {
            [first, _, ..] if first.starts_with(ARENA) => "malloc arenas".into(),
            [_, _, ..] if is_parker(self.locks[0]) => format!("Parkers of {} threads", names.len()),
            _ => one_name(&names),
        }
    }

    /// What it is, unless the name says it.
    pub fn kind_name(&self) -> Option<&'a str> {
        let kind = self.worst().type_name.as_deref().unwrap_or(lock_kind_name(self.kind));
        (!self.worst().name.contains(kind)).then_some(kind)
    }

    /// Nine tenths of the wait are for one of several.
    pub fn is_for_one(&self) -> bool {
        self.locks.len() > 1
            && self.passed_on.is_none()
            && self.worst().wait_cycles.saturating_mul(10) >= self.wait_cycles.saturating_mul(9)
    }

    /// `dashmap RwLock table[0-7].shard`, or the one of these that threads wait for.
    pub fn name_with_kind(&self) -> String {
        let name = if self.is_for_one() { self.worst().name.clone() } else { self.name() };
        self.kind_name().map_or(name.clone(), |kind| format!("{kind} {name}"))
    }

    /// How many there are, and what the worst of them alone comes to, in brackets after the name; nothing of
    /// a single lock.
    pub fn members(&self, all: u64) -> Option<String> {
        let count = self.locks.len();
        let worst = self.worst();
        if self.is_for_one() {
            return Some(format!("one of {count} locks"));
        }
        let share = units::about(units::share(worst.wait_cycles, all));
        let named = if self.name() == worst.name { String::new() } else { format!(", {}", worst.name) };
        (count > 1).then(|| format!("{count} locks; the worst{named}: {share}"))
    }
}

/// What threads waited for a lock whose holder waited for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOn {
    pub name: String,
    pub cycles: u64,
    /// Of these, while its holder waited for a third one, whose holder waited for the other.
    pub by_way: u64,
}

/// Before an arena's number in its name.
const ARENA: &str = "malloc arena ";

/// What a thread sleeps on in the queue of a lock of Rust; each thread has its own.
fn is_parker(lock: &LockUse) -> bool {
    rust_type(lock) == "Parker"
}

/// What like locks have in common: their names, but for arenas; and for parkers, where these wait.
fn common(lock: &LockUse) -> Vec<&str> {
    match lock.name.as_str() {
        _ if is_parker(lock) => vec!["Parker", lock.waited_at.as_ref().map_or("", |place| &place.function)],
        name if name.starts_with(ARENA) => vec![ARENA],
        name => pattern(name),
    }
}

/// How threads arrive at a barrier.
pub enum Shares {
    /// They met once: nothing tells when each had begun.
    NotKnown,
    /// Their shares of the work explain less than a third of what they wait: the rest is how long it takes until all are awake.
    Even,
    /// `by_chance`: no thread is last more often than others.
    Uneven { by_chance: bool },
}

pub fn shares(lock: &LockUse) -> Shares {
    let Some(meetings) = lock.meetings.filter(|meetings| meetings.timed_rounds > 0) else { return Shares::NotKnown };
    match longest_share(&meetings) < mean_wait(lock) / 3.0 {
        true => Shares::Even,
        false => Shares::Uneven { by_chance: last_by_chance(&meetings) },
    }
}

/// Cycles that a thread waits on average, if it waits.
pub fn mean_wait(lock: &LockUse) -> f64 {
    units::share(lock.wait_cycles, lock.contended)
}

/// Cycles by which the longest share of the work between two rounds is longer than the average.
pub fn longest_share(meetings: &Meetings) -> f64 {
    units::share(meetings.uneven, meetings.timed_rounds)
}

/// Is it in one of 100 runs at least that some thread is last exactly so often, if each is as likely to be?
fn last_by_chance(meetings: &Meetings) -> bool {
    let (threads, last, others) = (
        f64::from(meetings.threads.max(2)),
        meetings.last_rounds,
        meetings.rounds.saturating_sub(meetings.last_rounds),
    );
    // The number of threads times the binomial distribution, as logarithms.
    let chosen = |i: u64| ((others + last - i) as f64 / (i + 1) as f64).ln() - threads.ln();
    let chance = threads.ln() + (0..last).map(chosen).sum::<f64>() + others as f64 * (-1.0 / threads).ln_1p();
    chance > 0.01_f64.ln()
}

/// The groups of a run, by cycles waited, the most first.
pub fn groups(explained: &Explained) -> Vec<LockGroup<'_>> {
    let mut index = HashMap::new();
    let mut groups: Vec<LockGroup> = Vec::new();
    for lock in &explained.locks {
        let at = *index.entry((common(lock), lock.kind as u8)).or_insert(groups.len());
        if at == groups.len() {
            let (locks, kind) = (Vec::new(), lock.kind);
            groups.push(LockGroup {
                locks,
                kind,
                acquisitions: 0,
                contended: 0,
                wait_cycles: 0,
                hold_cycles: 0,
                blamable: 0,
                worst_blamable: 0,
                passed_on: None,
            });
        }
        groups[at].add(lock);
    }
    pass_on(&mut groups, &explained.run);
    for group in &mut groups {
        let one = of_one_waiter(group.kind, &explained.run);
        group.blamable = group.blamable.saturating_sub(one);
        group.worst_blamable =
            if is_parker(group.worst()) { group.blamable } else { group.worst_blamable.saturating_sub(one) };
        group.locks.sort_by_key(|lock| Reverse(lock.wait_cycles));
    }
    groups.sort_by_key(|group| Reverse(group.wait_cycles));
    groups
}

/// Who waits for a lock waits, for that part of the time that it is held in which its holder waits for another one, for that one:
/// what is blamed on it is moved there, along chains of locks as well, and never back to where it came from.
fn pass_on(groups: &mut [LockGroup<'_>], run: &RunFacts) {
    let locks: Vec<(usize, &LockUse)> =
        groups.iter().enumerate().flat_map(|(at, group)| group.locks.iter().map(move |lock| (at, *lock))).collect();
    let of_address: HashMap<u64, usize> =
        locks.iter().enumerate().rev().map(|(at, (_, lock))| (lock.address, at)).collect();
    let mut blamed: Vec<u64> = locks.iter().map(|(_, lock)| waited_at_work(lock, run)).collect();
    // By lock and by the group that it came from: what may have to go on.
    let mut waits: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (at, (group, lock)) in locks.iter().enumerate().filter(|(_, (_, lock))| !lock.held_waiting.is_empty()) {
        waits.insert((at, *group), waited_at_work(lock, run));
    }
    // By the groups that it is blamed on and that it came from; at once, and by way of others.
    let mut moved: BTreeMap<(usize, usize), [u64; 2]> = BTreeMap::new();
    for step in 0..LONGEST_CHAIN {
        for ((at, origin), wait) in std::mem::take(&mut waits) {
            let (group, holder) = locks[at];
            let all = holder.held_waiting.iter().fold(0_u64, |sum, (_, cycles)| sum.saturating_add(*cycles));
            let held = holder.hold_cycles.max(all).max(1);
            for (address, cycles) in &holder.held_waiting {
                let Some(&other) = of_address.get(address).filter(|other| ![group, origin].contains(&locks[**other].0))
                else {
                    continue;
                };
                let part = (u128::from(wait) * u128::from(*cycles) / u128::from(held)) as u64;
                blamed[at] = blamed[at].saturating_sub(part);
                blamed[other] += part;
                moved.entry((locks[other].0, origin)).or_default()[usize::from(step > 0)] += part;
                if let Some(parts) = moved.get_mut(&(group, origin)) {
                    parts[usize::from(step > 1)] = parts[usize::from(step > 1)].saturating_sub(part);
                }
                *waits.entry((other, origin)).or_default() += part;
            }
        }
    }
    groups.iter_mut().for_each(|group| (group.blamable, group.worst_blamable) = (0, 0));
    for ((group, _), blamed) in locks.iter().zip(&blamed) {
        let group = &mut groups[*group];
        group.blamable += blamed;
        group.worst_blamable = group.worst_blamable.max(*blamed);
    }
    for ((group, origin), [at_once, by_way]) in moved {
        let cycles = at_once + by_way;
        if groups[group].passed_on.as_ref().is_none_or(|most| cycles > most.cycles) {
            groups[group].passed_on = Some(PassedOn { name: groups[origin].name(), cycles, by_way });
        }
    }
}

/// Steps of a chain of locks each of whose holders waits for the next.
const LONGEST_CHAIN: usize = 8;

impl<'a> LockGroup<'a> {
    fn add(&mut self, lock: &'a LockUse) {
        let known = |acquisitions: u64, contended: u64| acquisitions > 0 || contended == 0;
        let all_known = known(self.acquisitions, self.contended) && known(lock.acquisitions, lock.contended);
        self.acquisitions = if all_known { self.acquisitions + lock.acquisitions } else { 0 };
        self.locks.push(lock);
        self.contended += lock.contended;
        self.wait_cycles += lock.wait_cycles;
        self.hold_cycles += lock.hold_cycles;
    }
}

/// Cycles waited before there was work, which say nothing of the work: at the beginning of threads' lives for what
/// nobody holds (that all are made), or for a lock that each CPU takes once at most and that is free most of the
/// time (all come at once for what they need to begin).
pub fn before_work(lock: &LockUse, run: &RunFacts) -> u64 {
    let held = [LockKind::Mutex, LockKind::RwLock, LockKind::Spinlock, LockKind::Library];
    let is_held = held.contains(&lock.kind) || lock.hold_cycles > 0;
    let times = lock.acquisitions.max(lock.contended);
    let once = times <= u64::from(run.cpus.min(run.threads)) && lock.hold_cycles < run.cycles / 2;
    match (is_held, once) {
        (false, _) => lock.start_cycles,
        (true, true) => lock.wait_cycles,
        (true, false) => 0,
    }
}

fn waited_at_work(lock: &LockUse, run: &RunFacts) -> u64 {
    lock.wait_cycles.saturating_sub(before_work(lock, run))
}

/// One thread that waits all the time until the others are done is not counted against what it waits for.
fn of_one_waiter(kind: LockKind, run: &RunFacts) -> u64 {
    match kind {
        LockKind::CondVar | LockKind::Barrier | LockKind::Semaphore | LockKind::Futex => run.cycles,
        _ => 0,
    }
}

/// The condition variable whose wake-ups wake threads that then wait again, if that is why these are waited for: it is among them, or
/// most acquisitions of the mutex are of threads that it has woken.
pub fn herd<'a>(explained: &'a Explained, group: &LockGroup) -> Option<(&'a LockUse, Herd)> {
    let herds = explained.locks.iter().filter_map(|lock| Some((lock, lock.herd?)));
    let why = |lock: &LockUse, herd: Herd| {
        let own = group.locks.iter().any(|one| one.address == lock.address);
        own || group.kind == LockKind::Mutex && herd.again.saturating_mul(2) >= group.acquisitions
    };
    herds.filter(|(lock, herd)| why(lock, *herd)).max_by_key(|(_, herd)| herd.again)
}

/// `RwLock` of `parking_lot RwLock`; `std::barrier` of C++; else empty.
pub fn rust_type(lock: &LockUse) -> &str {
    lock.type_name.as_deref().and_then(|name| name.rsplit(' ').next()).unwrap_or_default()
}

/// Does it guard the threads that sleep until other locks are free?
pub fn guards_sleepers(lock: &LockUse) -> bool {
    rust_type(lock) == "WordLock"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{lock, run};

    /// As in a ring whose members pass a token on: each waits at its own.
    #[test]
    fn the_thread_that_waits_for_the_others_is_taken_off_once() {
        let mut run = run(4);
        let cycles = run.run.cycles;
        run.locks = (0..3).map(|i| lock(&format!("turn[{i}]"), LockKind::Semaphore, i * 64, cycles)).collect();
        let group = &groups(&run)[0];
        assert_eq!((group.blamable, group.worst_blamable), (2 * cycles, 0));
    }

    /// The outer one's holder waits for the middle one in half of its time, and that one's for the inner one in three quarters.
    #[test]
    fn waits_are_passed_on_along_a_chain_of_locks() {
        let mut run = run(4);
        let [mut outer, mut middle, inner] = [("outer", 0x40, 800), ("middle", 0x80, 100), ("inner", 0xc0, 10)]
            .map(|(name, address, wait)| LockUse { hold_cycles: 1000, ..lock(name, LockKind::Mutex, address, wait) });
        outer.held_waiting = vec![(0x80, 500), (0x999, 100)];
        middle.held_waiting = vec![(0xc0, 750)];
        run.locks = vec![outer, middle, inner];
        let of = |name: &str| groups(&run).into_iter().find(|group| group.name() == name).expect("a lock");
        // Of the outer one's 800, 400 go on to the middle one; of those and its own 100, three quarters to the inner one.
        assert_eq!(["outer", "middle", "inner"].map(|name| of(name).blamable), [400, 125, 385]);
        assert_eq!(["outer", "middle", "inner"].map(|name| of(name).wait_cycles), [800, 100, 10], "as measured");
        let passed_on = |name: &str, cycles, by_way| Some(PassedOn { name: name.into(), cycles, by_way });
        assert_eq!(of("outer").passed_on, None);
        assert_eq!(
            (of("middle").passed_on, of("inner").passed_on),
            (passed_on("outer", 100, 0), passed_on("outer", 300, 300))
        );
    }

    /// Two locks whose holders wait for each other, in two phases: no wait comes back to where it came from.
    #[test]
    fn waits_do_not_go_in_circles() {
        let mut run = run(4);
        let [mut one, mut two] = [("one", 0x40, 800), ("two", 0x80, 600)]
            .map(|(name, address, wait)| LockUse { hold_cycles: 1000, ..lock(name, LockKind::Mutex, address, wait) });
        (one.held_waiting, two.held_waiting) = (vec![(0x80, 500)], vec![(0x40, 500)]);
        run.locks = vec![one, two];
        let blamed: Vec<u64> = groups(&run).iter().map(|group| group.blamable).collect();
        assert_eq!(blamed, [800 - 400 + 300, 600 - 300 + 400]);
    }

    /// As in a lock's queue: each waits at its own, and all together for longer than the run takes.
    #[test]
    fn parkers_of_threads_that_wait_at_one_place_are_one() {
        let mut run = run(4);
        run.run.cycles = 1000;
        let parker = |i: u64, place| LockUse {
            waited_at: Some(crate::sample::place(place, "map.rs", 9)),
            type_name: Some("Parker".into()),
            ..lock(&format!("Parker of a thread ({i:#x})"), LockKind::Futex, i, 800)
        };
        run.locks = vec![parker(1, "update"), parker(2, "update"), parker(3, "update"), parker(4, "receive")];
        let groups = groups(&run);
        assert_eq!(
            groups.iter().map(|group| (group.name(), group.blamable, group.worst_blamable)).collect::<Vec<_>>(),
            [("Parkers of 3 threads".into(), 1400, 1400), ("Parker of a thread (0x4)".into(), 0, 0)]
        );
    }

    #[test]
    fn elements_of_an_array_are_one() {
        let mut run = run(4);
        run.locks = (0..1000).map(|i| lock(&format!("table[{i}].lock"), LockKind::Mutex, i * 64, i)).collect();
        run.locks.push(lock("table[3].lock", LockKind::RwLock, 0x99, 5));
        run.locks.push(lock("other", LockKind::Mutex, 0xa0, 1_000_000));
        let groups = groups(&run);
        assert_eq!(
            groups.iter().map(LockGroup::name).collect::<Vec<_>>(),
            ["other", "table[0-999].lock", "table[3].lock"]
        );
        assert_eq!((groups[1].locks.len(), groups[1].wait_cycles), (1000, 499_500));
        assert_eq!(groups[1].members(9990).as_deref(), Some("1000 locks; the worst, table[999].lock: 10%"));
        assert_eq!(groups[0].members(9990), None);
    }
}
