// SPDX-License-Identifier: MIT OR Apache-2.0
//! Condition variables under every kind of schedule: threads of the host run in turn, one at a time, and at each access to a
//! word the schedule says who is next; a sleeper may time out, or be woken for nothing, at any of these.
extern crate std;

use super::*;
use crate::futexes::{Asleep, Futexes, Sleeper};
use crate::timers::Timers;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

const ANY: u32 = u32::MAX;
/// The mutex: 0 is free, 1 held, 2 held and waited for. Beyond the condition variable's words, which may be destroyed.
const MUTEX: u64 = 128;
/// Accesses after which threads do not come to an end.
const MOST_STEPS: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// May it time out?
    Asleep(bool),
    Done,
}

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happened {
    /// The thread took its ticket, with the mutex held.
    Arrived(usize),
    /// It gave the mutex back.
    Unlocked(usize),
    /// So many signals were given.
    Given(u32),
    /// The thread's wait ended, before it took the mutex again.
    Awake(usize),
    /// It does not wait any longer: without a signal, unless there is one that only it can take.
    Withdrew(usize),
    /// It has its mutex again, if it had it.
    Ended(usize, Ended),
}

struct Machine {
    words: BTreeMap<u64, u32>,
    futexes: Futexes,
    timers: Timers,
    states: Vec<State>,
    /// Did the last sleep of each thread end by its timer?
    timed_out: Vec<bool>,
    cancelled: Vec<bool>,
    running: usize,
    schedule: Vec<u8>,
    steps: usize,
    /// Threads that do not run for now.
    held_up: Vec<usize>,
    owner: Option<usize>,
    destroyed: bool,
    /// Nobody can run, or threads go on for ever.
    stuck: bool,
    log: Vec<Happened>,
}

impl Machine {
    /// Who runs next: one that is ready, or a sleeper that may time out and does so now.
    fn choose(&mut self) {
        let threads = || 0..self.states.len();
        let is_ready = |t: &usize| self.states[*t] == State::Ready && !self.held_up.contains(t);
        let ready: Vec<usize> = threads().filter(is_ready).collect();
        let late = threads().filter(|t| self.states[*t] == State::Asleep(true));
        // Without a choice, nobody times out as long as others can run, and all go on in turn.
        let choice = self.schedule.get(self.steps).copied().map(usize::from);
        let choices: Vec<usize> = match choice {
            Some(_) => ready.iter().copied().chain(late).collect(),
            None if ready.is_empty() => late.collect(),
            None => ready,
        };
        self.steps += 1;
        let Some(next) = choices.get(choice.unwrap_or(self.steps) % choices.len().max(1)) else {
            self.stuck = self.states.iter().any(|state| *state != State::Done);
            return;
        };
        if self.steps > MOST_STEPS {
            self.stuck = true;
        }
        self.running = *next;
        if self.states[*next] == State::Asleep(true) {
            self.timed_out[*next] = true;
            self.interrupt(*next);
        }
    }

    /// Ends the thread's sleep without a wake-up.
    fn interrupt(&mut self, thread: usize) {
        self.timers.cancel(thread);
        self.futexes.forget(thread);
        self.states[thread] = State::Ready;
    }

    fn word(&mut self, word: u64) -> &mut u32 {
        assert!(!self.destroyed || word >= BYTES, "the object is used after it was destroyed");
        self.words.entry(word).or_default()
    }

    fn wake(&mut self, word: u64, most: u32) {
        for _ in 0..most {
            let Some(thread) = self.futexes.wake(&mut self.timers, word, ANY) else { break };
            self.states[thread] = State::Ready;
        }
    }
}

/// The machine, and what its threads wait on for their turn.
struct Shared {
    machine: Mutex<Machine>,
    turn: Condvar,
}

/// How a thread of a machine that is stuck ends.
struct Stuck;

#[derive(Clone, Copy)]
struct Thread<'a> {
    shared: &'a Shared,
    number: usize,
}

impl<'a> Thread<'a> {
    fn machine(self) -> MutexGuard<'a, Machine> {
        self.shared.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns at the thread's next turn, with the machine to itself.
    fn turn(self, mut machine: MutexGuard<'a, Machine>) -> MutexGuard<'a, Machine> {
        self.shared.turn.notify_all();
        while !machine.stuck && machine.running != self.number {
            machine = self.shared.turn.wait(machine).unwrap_or_else(PoisonError::into_inner);
        }
        if machine.stuck {
            drop(machine);
            resume_unwind(Box::new(Stuck));
        }
        machine
    }

    /// Others may run before what the thread does next.
    fn step(self) -> MutexGuard<'a, Machine> {
        let mut machine = self.machine();
        machine.choose();
        self.turn(machine)
    }

    fn log(self, happened: Happened) {
        self.machine().log.push(happened);
    }

    fn lock(self) {
        if self.update(MUTEX, |old| (old == 0).then_some(1)) != 0 {
            while self.update(MUTEX, |_| Some(2)) != 0 {
                self.wait(MUTEX, 2, None);
            }
        }
        assert_eq!(self.machine().owner.replace(self.number), None, "two hold the mutex");
    }

    fn unlock(self) {
        assert_eq!(self.machine().owner.take(), Some(self.number), "it is another's mutex");
        if self.update(MUTEX, |_| Some(0)) == 2 {
            self.wake(MUTEX, 1);
        }
    }

    /// A whole wait, with the mutex held before and after.
    fn waits(self, deadline: Option<Ticks>) -> Ended {
        let ended = wait(self, deadline, &mut { self });
        assert_eq!(self.machine().owner, Some(self.number), "its wait is over, and it has no mutex");
        self.log(Happened::Ended(self.number, ended));
        ended
    }

    fn locked(self, work: impl FnOnce()) {
        self.lock();
        work();
        self.unlock();
    }

    fn signals(self, most: u32) {
        signal(self, most, |count| self.log(Happened::Given(count)));
    }

    /// Lets others run until then.
    fn until(self, come: impl Fn(&Machine) -> bool) {
        while !come(&self.step()) {}
    }

    fn holds_up(self, threads: &[usize]) {
        self.machine().held_up = threads.to_vec();
    }

    fn lets_others_run(self, steps: usize) {
        (0..steps).for_each(|_| drop(self.step()));
    }

    /// Ends the other's sleep, which it is to go on with, unless it is cancelled.
    fn disturbs(self, thread: usize, cancels: bool) {
        let mut machine = self.step();
        machine.cancelled[thread] |= cancels;
        if matches!(machine.states[thread], State::Asleep(_)) {
            machine.interrupt(thread);
        }
    }
}

impl Words for Thread<'_> {
    fn load(self, word: u64) -> u32 {
        *self.step().word(word)
    }

    fn update(self, word: u64, change: impl FnOnce(u32) -> Option<u32>) -> u32 {
        let mut machine = self.step();
        let old = *machine.word(word);
        match word {
            TICKETS => machine.log.push(Happened::Arrived(self.number)),
            SECOND if machine.is_waiting(self.number) => machine.log.push(Happened::Withdrew(self.number)),
            _ => {}
        }
        // Nobody else's turn comes before it is done.
        drop(machine);
        if let Some(new) = change(old) {
            *self.machine().word(word) = new;
        }
        old
    }

    fn read(self, word: u64) -> u32 {
        self.load(word)
    }

    fn peek(self, word: u64) -> u32 {
        *self.machine().word(word)
    }

    fn poke(self, word: u64, value: u32) {
        *self.machine().word(word) = value;
    }

    fn clear(self, bytes: u64) {
        self.step().words.retain(|word, _| *word >= bytes);
    }

    fn wait(self, word: u64, expected: u32, deadline: Option<Ticks>) -> bool {
        let mut machine = self.step();
        // A wait for a signal is a cancellation point.
        if word != WAITERS && word != MUTEX && machine.cancelled[self.number] {
            return true;
        }
        let found = *machine.word(word);
        let sleeper = Sleeper { thread: self.number, bits: ANY, found, expected, deadline };
        let Machine { futexes, timers, .. } = &mut *machine;
        if futexes.wait(timers, word, sleeper, 0) != Asleep::Yes {
            return true;
        }
        machine.states[self.number] = State::Asleep(deadline.is_some());
        machine.timed_out[self.number] = false;
        machine.choose();
        !self.turn(machine).timed_out[self.number]
    }

    fn wake(self, word: u64, most: u32) {
        self.step().wake(word, most);
    }
}

impl Waiting for Thread<'_> {
    fn unlock(&mut self) -> bool {
        self.log(Happened::Unlocked(self.number));
        Thread::unlock(*self);
        true
    }

    fn is_cancelled(&self) -> bool {
        self.machine().cancelled[self.number]
    }

    fn is_awake(&mut self) {
        self.log(Happened::Awake(self.number));
    }

    fn lock(&mut self) {
        Thread::lock(*self);
    }
}

type Program<'a> = Box<dyn Fn(Thread) + Sync + 'a>;

fn program<'a>(work: impl Fn(Thread) + Sync + 'a) -> Program<'a> {
    Box::new(work)
}

/// So many that wait once.
fn waiters<'a>(count: usize, deadline: Option<Ticks>) -> impl Iterator<Item = Program<'a>> {
    let waiter = move |thread: Thread| thread.locked(|| _ = thread.waits(deadline));
    (0..count).map(move |_| program(waiter))
}

/// Runs the threads until all are done, or nobody can run. A thread that panics ends the others.
fn run(schedule: &[u8], programs: &[Program]) -> Machine {
    let count = programs.len();
    // Tickets wrap around.
    let tickets = [TICKETS, START, SECOND, SIGNALS, SIGNALS + 4].map(|word| (word, TICKET.wrapping_neg()));
    let words = tickets.into_iter().chain([(WAITERS, MONOTONIC)]);
    let machine = Machine {
        words: words.collect(),
        futexes: Futexes::default(),
        timers: Timers::default(),
        states: vec![State::Ready; count],
        timed_out: vec![false; count],
        cancelled: vec![false; count],
        running: 0,
        schedule: schedule.to_vec(),
        steps: 0,
        held_up: Vec::new(),
        owner: None,
        destroyed: false,
        stuck: false,
        log: Vec::new(),
    };
    let shared = Shared { machine: Mutex::new(machine), turn: Condvar::new() };
    let run_one = |number: usize| {
        let thread = Thread { shared: &shared, number };
        let result = catch_unwind(AssertUnwindSafe(|| {
            drop(thread.turn(thread.machine()));
            programs[number](thread);
        }));
        let mut machine = thread.machine();
        match &result {
            Ok(()) => {
                machine.states[number] = State::Done;
                machine.choose();
            }
            Err(_) => machine.stuck = true,
        }
        shared.turn.notify_all();
        result.err().filter(|cause| !cause.is::<Stuck>())
    };
    let run_one = &run_one;
    let failed = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|number| scope.spawn(move || run_one(number))).collect();
        let failed: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
        failed.into_iter().next()
    });
    if let Some(cause) = failed {
        resume_unwind(cause);
    }
    let machine = shared.machine.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(machine.steps <= MOST_STEPS, "threads go on for ever");
    machine
}

impl Machine {
    fn sleepers(&self) -> Vec<usize> {
        let asleep = |thread: &usize| matches!(self.states[*thread], State::Asleep(_));
        (0..self.states.len()).filter(asleep).collect()
    }

    fn ended(&self, thread: usize) -> Option<Ended> {
        self.log.iter().find_map(|happened| match happened {
            Happened::Ended(other, ended) if *other == thread => Some(*ended),
            _ => None,
        })
    }

    fn at(&self, wanted: Happened) -> Option<usize> {
        self.log.iter().position(|happened| *happened == wanted)
    }

    fn is_waiting(&self, thread: usize) -> bool {
        let begins_or_ends = [Happened::Arrived(thread), Happened::Awake(thread)];
        self.log.iter().rfind(|happened| begins_or_ends.contains(happened)) == Some(&begins_or_ends[0])
    }

    /// How many signals were given, from one event to another.
    fn given(&self, from: usize, to: usize) -> usize {
        let count = |happened: &Happened| if let Happened::Given(count) = happened { *count as usize } else { 0 };
        self.log[from..to].iter().map(count).sum()
    }

    /// What holds however threads come and go, where each waits once: signals and the waits that they end can be paired so
    /// that each signal ends the wait of one that was blocked when it was given. It is enough to try the pairing that gives
    /// each signal to the one whose wait ends first.
    fn check(&self) {
        let log = &self.log;
        // Those that no signal has been given to yet.
        let mut blocked = Vec::new();
        let pair = |blocked: &mut Vec<usize>| {
            let ends = |ended| move |thread: &&usize| self.ended(**thread) == Some(ended);
            let end = |thread: &&usize| self.at(Happened::Awake(**thread));
            let signalled = blocked.iter().filter(ends(Ended::Signalled)).min_by_key(end);
            // One that finds that it does not hold the mutex may have been given a signal meanwhile.
            let taker = signalled.or_else(|| blocked.iter().find(ends(Ended::NotHeld)));
            let taker = *taker.unwrap_or_else(|| panic!("a signal unblocks none of {blocked:?}: {log:?}"));
            blocked.retain(|thread| *thread != taker);
        };
        for happened in log {
            match *happened {
                Happened::Arrived(thread) => blocked.push(thread),
                Happened::Given(count) => (0..count).for_each(|_| pair(&mut blocked)),
                Happened::Awake(thread) if self.ended(thread) == Some(Ended::Signalled) => {
                    assert!(!blocked.contains(&thread), "no signal unblocks {thread}: {log:?}");
                }
                Happened::Withdrew(thread) => match self.ended(thread) {
                    Some(Ended::Signalled) => {}
                    // It passes its signal on.
                    Some(Ended::NotHeld) if !blocked.contains(&thread) && !blocked.is_empty() => pair(&mut blocked),
                    _ => blocked.retain(|other| *other != thread),
                },
                Happened::Awake(_) | Happened::Unlocked(_) | Happened::Ended(..) => {}
            }
        }
        blocked.sort_unstable();
        assert_eq!(blocked, self.sleepers(), "a signal is lost: {log:?}");
        self.check_words();
    }

    /// The words when all threads are done or asleep.
    fn check_words(&self) {
        let word = |word| self.words.get(&word).copied().unwrap_or(0);
        let sleepers = self.sleepers().len() as u32;
        let first = word(TICKETS) ^ INDEX;
        assert_eq!(word(of(SIGNALS, first)), word(START), "signals that nobody takes: {:?}", self.log);
        assert_eq!(word(UNSIGNALLED) + word(UNSIGNALLED + 4), sleepers, "{:?}", self.log);
        assert_eq!(word(WAITERS) & !DESTROYED, (sleepers * WAITER) | MONOTONIC, "{:?}", self.log);
    }
}

/// Choices, some of which are made many times in turn: others may do much while a thread does not run.
fn schedule() -> impl Strategy<Value = Vec<u8>> {
    let times = prop_oneof![Just(1), 1..25usize];
    let choices = prop::collection::vec((any::<u8>(), times), 0..100);
    choices.prop_map(|choices| choices.iter().flat_map(|(choice, times)| vec![*choice; *times]).collect())
}

proptest! {
    /// Nobody leaves: each signal ends one wait, and which signals find somebody is known.
    #[test]
    fn as_many_waits_end_as_there_are_signals(
        schedule in schedule(),
        count in 1..7usize,
        signals in prop::collection::vec((prop_oneof![3 => Just(1), 1 => 2..4u32, 1 => Just(u32::MAX)], any::<bool>()), 0..6),
        disturbed in prop::collection::vec(0..7usize, 0..3),
    ) {
        let signaller = |(most, held): (u32, bool)| program(move |thread| match held {
            true => thread.locked(|| thread.signals(most)),
            false => thread.signals(most),
        });
        let disturber = |other| program(move |thread| thread.disturbs(other % count, false));
        let programs: Vec<Program> = waiters(count, None)
            .chain(signals.iter().copied().map(signaller))
            .chain(disturbed.iter().copied().map(disturber))
            .collect();
        let machine = run(&schedule, &programs);
        machine.check();
        let given = machine.given(0, machine.log.len());
        prop_assert_eq!(machine.sleepers().len(), count - given);
        prop_assert_eq!((0..count).filter(|thread| machine.ended(*thread) == Some(Ended::Signalled)).count(), given);
    }

    /// A signal that is given with the mutex held finds those who have given it back and have no signal yet.
    #[test]
    fn a_signal_finds_those_who_wait(
        schedule in schedule(),
        count in 1..5usize,
        signals in prop::collection::vec(prop_oneof![1..4u32, Just(u32::MAX)], 1..4),
    ) {
        let signaller = program(|thread| signals.iter().for_each(|most| thread.locked(|| {
            let before = thread.machine().log.clone();
            let unlocked = before.iter().filter(|h| matches!(h, Happened::Unlocked(_))).count();
            let waiting = unlocked - thread.machine().given(0, before.len());
            thread.signals(*most);
            let machine = thread.machine();
            assert_eq!(machine.given(before.len(), machine.log.len()), waiting.min(*most as usize));
        })));
        let programs: Vec<Program> = waiters(count, None).chain([signaller]).collect();
        run(&schedule, &programs).check();
    }

    /// Time-outs, cancellations, and wake-ups for nothing.
    #[test]
    fn who_leaves_takes_no_signal_from_another(
        schedule in schedule(),
        patient in 1..4usize,
        hasty in 0..3usize,
        signals in prop::collection::vec(1..3u32, 0..4),
        disturbed in prop::collection::vec((0..6usize, any::<bool>()), 0..3),
    ) {
        let count = patient + hasty;
        let signaller = |most| program(move |thread| thread.signals(most));
        let disturber = |(other, cancels): (usize, bool)| program(move |thread| thread.disturbs(other % count, cancels));
        let all = waiters(patient, None).chain(waiters(hasty, Some(1)));
        let programs: Vec<Program> = all
            .chain(signals.iter().copied().map(signaller))
            .chain(disturbed.iter().copied().map(disturber))
            .collect();
        let machine = run(&schedule, &programs);
        machine.check();
        for thread in 0..count {
            match machine.ended(thread) {
                Some(Ended::TimedOut) => prop_assert!(thread >= patient),
                Some(Ended::Cancelled) => prop_assert!(machine.cancelled[thread]),
                Some(Ended::NotHeld) => prop_assert!(false),
                None => prop_assert!(!machine.cancelled[thread]),
                Some(Ended::Signalled) => {}
            }
        }
    }

    /// Of a time-out and a signal the one that comes first counts.
    #[test]
    fn a_signal_that_came_in_time_is_taken(schedule in schedule()) {
        let programs: Vec<Program> = waiters(1, Some(1)).chain([program(|thread| thread.signals(1))]).collect();
        let machine = run(&schedule, &programs);
        machine.check();
        let in_time = machine.at(Happened::Given(1)).is_some_and(|at| Some(at) < machine.at(Happened::Awake(0)));
        prop_assert_eq!(machine.ended(0), Some(if in_time { Ended::Signalled } else { Ended::TimedOut }));
    }

    /// As programs use them: who waits looks again. Signals are given with the mutex held, or after.
    #[test]
    fn every_token_is_consumed(schedule in schedule(), count in 1..4usize, held in any::<bool>(), deadline in any::<bool>()) {
        let tokens = Mutex::new(0);
        let consumer = |thread: Thread| thread.locked(|| {
            while *tokens.lock().unwrap() == 0 {
                thread.waits(deadline.then_some(1));
            }
            *tokens.lock().unwrap() -= 1;
        });
        let producer = |thread: Thread| {
            thread.locked(|| {
                *tokens.lock().unwrap() += 1;
                if held {
                    thread.signals(1);
                }
            });
            if !held {
                thread.signals(1);
            }
        };
        let consumers = (0..count).map(|_| program(consumer));
        let programs: Vec<Program> = consumers.chain((0..count).map(|_| program(producer))).collect();
        let machine = run(&schedule, &programs);
        prop_assert!(machine.sleepers().is_empty(), "{:?}", machine.log);
    }

    /// Nobody uses the object after that.
    #[test]
    fn it_is_destroyed_when_the_last_has_left(schedule in schedule(), count in 0..4usize) {
        let destroyer = program(move |thread| {
            let have_arrived = || thread.machine().log.iter().filter(|h| matches!(h, Happened::Unlocked(_))).count() == count;
            let mut done = false;
            while !done {
                thread.locked(|| {
                    done = have_arrived();
                    if done {
                        thread.signals(u32::MAX);
                    }
                });
            }
            destroy(thread);
            thread.machine().destroyed = true;
        });
        let machine = run(&schedule, &waiters(count, None).chain([destroyer]).collect::<Vec<_>>());
        prop_assert!(machine.sleepers().is_empty(), "{:?}", machine.log);
        machine.check();
    }
}

/// One that waits once, after so many signals.
fn waiter_after<'a>(signals: usize) -> Program<'a> {
    program(move |thread| {
        thread.until(|machine| machine.given(0, machine.log.len()) == signals);
        thread.locked(|| _ = thread.waits(None));
    })
}

/// Who is blocked when a signal is given, and alone so, has it however late it runs.
#[test]
fn a_signal_is_not_for_those_who_come_later() {
    let late = (0..2).map(|_| waiter_after(1));
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        thread.holds_up(&[0]);
        thread.signals(1);
        thread.until(|machine| machine.sleepers() == [1, 2]);
        thread.signals(1);
        thread.disturbs(2, false);
        thread.lets_others_run(100);
        thread.holds_up(&[]);
    });
    let machine = run(&[], &waiters(1, None).chain(late).chain([director]).collect::<Vec<_>>());
    machine.check();
    assert_eq!(machine.ended(0), Some(Ended::Signalled), "{:?}", machine.log);
    assert_eq!(machine.sleepers().len(), 1, "{:?}", machine.log);
}

/// Another takes the signal that a waiter has seen, and a second one comes before the waiter sleeps again: wherever it is
/// held up meanwhile.
#[test]
fn who_is_not_the_first_to_take_a_signal_looks_again() {
    for (first, second) in (0..8).flat_map(|first| (0..8).map(move |second| (first, second))) {
        let other = program(|thread| {
            thread.until(|machine| machine.sleepers() == [0]);
            thread.locked(|| _ = thread.waits(None));
        });
        let director = program(move |thread| {
            thread.until(|machine| machine.at(Happened::Unlocked(1)).is_some());
            thread.holds_up(&[0, 1]);
            thread.signals(1);
            thread.holds_up(&[1]);
            thread.lets_others_run(first);
            thread.holds_up(&[0]);
            thread.lets_others_run(20);
            thread.holds_up(&[1]);
            thread.lets_others_run(second);
            thread.holds_up(&[0, 1]);
            thread.signals(1);
            thread.holds_up(&[]);
        });
        let machine = run(&[], &waiters(1, None).chain([other, director]).collect::<Vec<_>>());
        machine.check();
        assert!(machine.sleepers().is_empty(), "{:?}", machine.log);
    }
}

/// Wherever a waiter is held up as it takes its signal, though it is cancelled, and though a later group has its group's
/// index.
#[test]
fn who_has_a_signal_takes_no_later_one() {
    for (steps, cancelled) in (0..10).flat_map(|steps| [(steps, false), (steps, true)]) {
        let director = program(move |thread| {
            thread.until(|machine| machine.sleepers() == [0]);
            thread.holds_up(&[0]);
            thread.signals(1);
            thread.machine().cancelled[0] = cancelled;
            thread.holds_up(&[]);
            thread.lets_others_run(steps);
            thread.holds_up(&[0]);
            thread.until(|machine| machine.sleepers().contains(&1));
            thread.signals(1);
            thread.until(|machine| machine.sleepers() == [2, 3]);
            thread.holds_up(&[0, 2, 3]);
            thread.signals(1);
            thread.holds_up(&[2, 3]);
            thread.lets_others_run(20);
            thread.holds_up(&[]);
        });
        let others = [waiter_after(1), waiter_after(2), waiter_after(2), director];
        let machine = run(&[], &waiters(1, None).chain(others).collect::<Vec<_>>());
        machine.check();
        assert_eq!(machine.ended(0), Some(Ended::Signalled), "{:?}", machine.log);
    }
}

#[test]
fn signals_for_two_groups_are_no_more_than_were_asked_for() {
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0, 1]);
        thread.signals(1);
        thread.until(|machine| machine.sleepers() == [1, 2, 3]);
        thread.signals(2);
    });
    let others = [waiter_after(1), waiter_after(1), director];
    let machine = run(&[], &waiters(2, None).chain(others).collect::<Vec<_>>());
    machine.check();
    assert_eq!(machine.given(0, machine.log.len()), 3);
}

/// Its group was closed before the wake-up, and waiters of the one that has its index now wait for the same word.
#[test]
fn a_late_wake_up_finds_who_has_a_signal() {
    let late = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        signal(thread, 1, |count| {
            thread.log(Happened::Given(count));
            thread.holds_up(&[thread.number]);
        });
    });
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0, 1]);
        thread.signals(1);
        thread.until(|machine| machine.sleepers() == [0, 2]);
        thread.holds_up(&[]);
    });
    let others = [waiter_after(1), waiter_after(2), late, director];
    let machine = run(&[], &waiters(1, None).chain(others).collect::<Vec<_>>());
    machine.check();
    assert_eq!(machine.sleepers(), [2]);
}

/// The first in the queue is woken for a signal, but is cancelled before it takes it.
#[test]
fn who_leaves_passes_a_wake_up_on() {
    let second = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        thread.locked(|| _ = thread.waits(None));
    });
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0, 1]);
        thread.holds_up(&[0]);
        thread.signals(1);
        thread.machine().cancelled[0] = true;
        thread.holds_up(&[]);
    });
    let machine = run(&[], &waiters(1, None).chain([second, director]).collect::<Vec<_>>());
    machine.check();
    assert_eq!([0, 1].map(|thread| machine.ended(thread)), [Some(Ended::Cancelled), Some(Ended::Signalled)]);
}

#[test]
fn a_group_is_closed_only_for_others_to_have_signals() {
    let director = program(|thread| {
        thread.until(|machine| machine.sleepers() == [0]);
        thread.signals(u32::MAX);
        thread.signals(1);
    });
    let machine = run(&[], &waiters(1, None).chain([director]).collect::<Vec<_>>());
    let first_ticket = TICKET.wrapping_neg();
    assert_eq!([START, SECOND].map(|word| machine.words[&word]), [first_ticket, first_ticket.wrapping_add(TICKET)]);
}

#[test]
fn a_signal_that_nobody_waits_for_is_lost() {
    let machine = run(
        &[],
        &[program(|thread| {
            assert!(!signal(thread, 1, |_| panic!("to whom?")));
            thread.locked(|| _ = thread.waits(None));
        })],
    );
    assert_eq!(machine.sleepers(), [0]);
    machine.check();
}

#[test]
fn a_new_one_has_no_waiters_and_its_own_clock() {
    for monotonic in [false, true] {
        run(
            &[],
            &[program(|thread| {
                init(thread, monotonic);
                assert_eq!((is_monotonic(thread), thread.load(TICKETS)), (monotonic, 0));
                thread.waits_without_mutex(|| {});
                assert_eq!(is_monotonic(thread), monotonic);
                destroy(thread);
            })],
        );
    }
}

/// One that does not hold the mutex that it is to give back.
struct NotHolder<F>(F);

impl<F: Fn()> Waiting for NotHolder<F> {
    /// With what comes before it is found out.
    fn unlock(&mut self) -> bool {
        self.0();
        false
    }

    fn is_cancelled(&self) -> bool {
        false
    }

    fn is_awake(&mut self) {
        panic!("it did not wait");
    }

    fn lock(&mut self) {
        panic!("it had no mutex");
    }
}

impl Thread<'_> {
    fn waits_without_mutex(self, meanwhile: impl Fn()) {
        let ended = wait(self, None, &mut NotHolder(meanwhile));
        assert_eq!(ended, Ended::NotHeld);
        self.log(Happened::Ended(self.number, ended));
    }
}

proptest! {
    #[test]
    fn who_does_not_hold_the_mutex_does_not_wait(schedule in schedule()) {
        let without = program(|thread| thread.waits_without_mutex(|| {}));
        let signaller = program(|thread| thread.signals(1));
        run(&schedule, &waiters(2, None).chain([without, signaller]).collect::<Vec<_>>()).check();
    }
}

/// Another has begun to wait meanwhile.
#[test]
fn who_does_not_hold_the_mutex_passes_its_signal_on() {
    let without = program(|thread| {
        thread.waits_without_mutex(|| thread.until(|machine| machine.sleepers() == [1]));
    });
    let director = program(|thread| {
        thread.until(|machine| machine.words[&WAITERS] >= WAITER);
        thread.signals(1);
    });
    let machine = run(&[], &[without, waiter_after(1), director]);
    machine.check();
    assert_eq!(machine.ended(1), Some(Ended::Signalled));
}
