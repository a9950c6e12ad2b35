// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locks, brought together by name: a hash table's thousand locks are one row, and one cause.
use crate::units;
use corefold_explain::{Explained, LockUse, RunFacts, lock_kind_name, one_name, pattern};
use corefold_recording::{LockKind, Meetings};
use std::cmp::Reverse;
use std::collections::HashMap;

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
    /// Cycles waited that say something against them: of all, and of the one that has most. Who waits for a lock while its holder
    /// waits for another waits for that one.
    pub blamable: u64,
    pub worst_blamable: u64,
    /// Of `blamable`, what threads waited for other locks; and the one of these that has most of it, with that.
    pub passed_on: u64,
    pub passed_on_by: Option<(&'a LockUse, u64)>,
}

impl<'a> LockGroup<'a> {
    pub fn worst(&self) -> &'a LockUse {
        self.locks[0]
    }

    /// `table[0-999].lock`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.locks.iter().map(|lock| lock.name.as_str()).collect();
        match names.len() > 1 && names[0].starts_with(ARENA) {
            true => "malloc arenas".into(),
            false => one_name(&names),
        }
    }

    /// What it is, unless the name says it.
    pub fn kind_name(&self) -> Option<&'a str> {
        let kind = self.worst().type_name.as_deref().unwrap_or(lock_kind_name(self.kind));
        (!self.worst().name.contains(kind)).then_some(kind)
    }

    /// Nine tenths of the wait are for one of several.
    pub fn is_for_one(&self) -> bool {
        self.locks.len() > 1 && self.worst().wait_cycles.saturating_mul(10) >= self.wait_cycles.saturating_mul(9)
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

/// Before an arena's number in its name.
const ARENA: &str = "malloc arena ";

/// What the names of like locks have in common.
fn common(name: &str) -> Vec<&str> {
    if name.starts_with(ARENA) { vec![ARENA] } else { pattern(name) }
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
        let at = *index.entry((common(&lock.name), lock.kind as u8)).or_insert(groups.len());
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
                passed_on: 0,
                passed_on_by: None,
            });
        }
        groups[at].add(lock, &explained.run);
    }
    for group in &mut groups {
        group.blamable = group.blamable.saturating_sub(of_one_waiter(group.kind, &explained.run));
    }
    pass_on(&mut groups, &explained.run);
    for group in &mut groups {
        group.locks.sort_by_key(|lock| Reverse(lock.wait_cycles));
    }
    groups.sort_by_key(|group| Reverse(group.wait_cycles));
    groups
}

/// Who waits for a lock waits, for that part of the time that it is held in which its holder waits for another one, for that one:
/// what is blamed on it is moved there, along chains of locks as well.
fn pass_on(groups: &mut [LockGroup<'_>], run: &RunFacts) {
    let of_address: HashMap<u64, (usize, &LockUse)> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, g)| g.locks.iter().map(move |lock| (lock.address, (at, *lock))))
        .collect();
    let holders: Vec<(usize, &LockUse)> = groups
        .iter()
        .enumerate()
        .flat_map(|(at, group)| group.locks.iter().map(move |lock| (at, *lock)))
        .filter(|(_, lock)| !lock.held_waiting.is_empty() && lock.hold_cycles > 0)
        .collect();
    // What each still has to pass on. Chains of locks are short, and each step passes on a part only.
    let mut waits: HashMap<u64, u64> =
        holders.iter().map(|(_, lock)| (lock.address, waited_at_work(lock, run))).collect();
    for _ in 0..LONGEST_CHAIN {
        let mut came: HashMap<u64, u64> = HashMap::new();
        for (from, holder) in &holders {
            let wait = waits.get(&holder.address).copied().unwrap_or(0).min(groups[*from].blamable);
            let held = holder.hold_cycles.max(holder.held_waiting.iter().map(|(_, cycles)| cycles).sum());
            for (address, cycles) in &holder.held_waiting {
                let Some((to, other)) = of_address.get(address).filter(|(to, _)| to != from) else { continue };
                let part = (u128::from(wait) * u128::from(*cycles) / u128::from(held)) as u64;
                groups[*from].blamable -= part;
                groups[*to].takes_over(part, holder);
                groups[*to].worst_blamable += part;
                *came.entry(other.address).or_default() += part;
            }
            groups[*from].worst_blamable = groups[*from].worst_blamable.min(groups[*from].blamable);
        }
        waits = came;
    }
}

/// Steps of a chain of locks each of whose holders waits for the next.
const LONGEST_CHAIN: usize = 8;

impl<'a> LockGroup<'a> {
    fn takes_over(&mut self, wait: u64, of: &'a LockUse) {
        self.blamable += wait;
        self.passed_on += wait;
        if self.passed_on_by.is_none_or(|(_, most)| wait > most) {
            self.passed_on_by = Some((of, wait));
        }
    }

    fn add(&mut self, lock: &'a LockUse, run: &RunFacts) {
        let known = |acquisitions: u64, contended: u64| acquisitions > 0 || contended == 0;
        let all_known = known(self.acquisitions, self.contended) && known(lock.acquisitions, lock.contended);
        self.acquisitions = if all_known { self.acquisitions + lock.acquisitions } else { 0 };
        self.locks.push(lock);
        self.contended += lock.contended;
        self.wait_cycles += lock.wait_cycles;
        self.hold_cycles += lock.hold_cycles;
        self.blamable += waited_at_work(lock, run);
        self.worst_blamable = self.worst_blamable.max(blamable(lock, run));
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

/// Cycles waited for `lock` that say something against it, if it is the only one.
fn blamable(lock: &LockUse, run: &RunFacts) -> u64 {
    waited_at_work(lock, run).saturating_sub(of_one_waiter(lock.kind, run))
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
        let by = |name: &str| of(name).passed_on_by.map(|(other, wait)| (other.name.clone(), wait));
        assert_eq!((by("inner"), by("outer")), (Some(("middle".into(), 300)), None));
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
