// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine for tests: threads of the host run in turn, one at a time, and at each access to a
//! word the schedule says who is next; a sleeper may time out, or be woken for nothing, at any of these.
use super::super::*;
use crate::futexes::{Asleep, Futexes, Sleeper};
use crate::timers::Timers;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub const ANY: u32 = u32::MAX;
/// The mutex: 0 is free, 1 held, 2 held and waited for. Beyond the condition variable's words, which may be destroyed.
pub const MUTEX: u64 = 128;
/// Accesses after which threads do not come to an end.
pub const MOST_STEPS: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    /// May it time out?
    Asleep(bool),
    Done,
}

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
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

pub struct Machine {
    pub words: BTreeMap<u64, u32>,
    pub futexes: Futexes,
    pub timers: Timers,
    pub states: Vec<State>,
    /// Did the last sleep of each thread end by its timer?
    pub timed_out: Vec<bool>,
    pub cancelled: Vec<bool>,
    pub running: usize,
    pub schedule: Vec<u8>,
    pub steps: usize,
    /// Threads that do not run for now.
    pub held_up: Vec<usize>,
    pub owner: Option<usize>,
    pub destroyed: bool,
    /// Nobody can run, or threads go on for ever.
    pub stuck: bool,
    pub log: Vec<Happened>,
}

impl Machine {
    /// Who runs next: one that is ready, or a sleeper that may time out and does so now.
    pub fn choose(&mut self) {
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
    pub fn interrupt(&mut self, thread: usize) {
        self.timers.cancel(thread);
        self.futexes.forget(thread);
        self.states[thread] = State::Ready;
    }

    pub fn word(&mut self, word: u64) -> &mut u32 {
        assert!(!self.destroyed || word >= BYTES, "the object is used after it was destroyed");
        self.words.entry(word).or_default()
    }

    pub fn wake(&mut self, word: u64, most: u32) {
        for _ in 0..most {
            let Some(thread) = self.futexes.wake(&mut self.timers, word, ANY) else { break };
            self.states[thread] = State::Ready;
        }
    }
}

/// The machine, and what its threads wait on for their turn.
pub struct Shared {
    pub machine: Mutex<Machine>,
    pub turn: Condvar,
}

/// How a thread of a machine that is stuck ends.
pub struct Stuck;

#[derive(Clone, Copy)]
pub struct Thread<'a> {
    pub shared: &'a Shared,
    pub number: usize,
}

impl<'a> Thread<'a> {
    pub fn machine(self) -> MutexGuard<'a, Machine> {
        self.shared.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns at the thread's next turn, with the machine to itself.
    pub fn turn(self, mut machine: MutexGuard<'a, Machine>) -> MutexGuard<'a, Machine> {
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
    pub fn step(self) -> MutexGuard<'a, Machine> {
        let mut machine = self.machine();
        machine.choose();
        self.turn(machine)
    }

    pub fn log(self, happened: Happened) {
        self.machine().log.push(happened);
    }

    pub fn lock(self) {
        if self.update(MUTEX, |old| (old == 0).then_some(1)) != 0 {
            while self.update(MUTEX, |_| Some(2)) != 0 {
                self.wait(MUTEX, 2, None);
            }
        }
        assert_eq!(self.machine().owner.replace(self.number), None, "two hold the mutex");
    }

    pub fn unlock(self) {
        assert_eq!(self.machine().owner.take(), Some(self.number), "it is another's mutex");
        if self.update(MUTEX, |_| Some(0)) == 2 {
            self.wake(MUTEX, 1);
        }
    }

    /// A whole wait, with the mutex held before and after.
    pub fn waits(self, deadline: Option<Ticks>) -> Ended {
        let ended = wait(self, deadline, &mut { self });
        assert_eq!(self.machine().owner, Some(self.number), "its wait is over, and it has no mutex");
        self.log(Happened::Ended(self.number, ended));
        ended
    }

    pub fn locked(self, work: impl FnOnce()) {
        self.lock();
        work();
        self.unlock();
    }

    pub fn signals(self, most: u32) {
        signal(self, most, |count| self.log(Happened::Given(count)));
    }

    /// Lets others run until then.
    pub fn until(self, come: impl Fn(&Machine) -> bool) {
        while !come(&self.step()) {}
    }

    pub fn holds_up(self, threads: &[usize]) {
        self.machine().held_up = threads.to_vec();
    }

    pub fn lets_others_run(self, steps: usize) {
        (0..steps).for_each(|_| drop(self.step()));
    }

    /// Ends the other's sleep, which it is to go on with, unless it is cancelled.
    pub fn disturbs(self, thread: usize, cancels: bool) {
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

pub type Program<'a> = Box<dyn Fn(Thread) + Sync + 'a>;

pub fn program<'a>(work: impl Fn(Thread) + Sync + 'a) -> Program<'a> {
    Box::new(work)
}

/// So many that wait once.
pub fn waiters<'a>(count: usize, deadline: Option<Ticks>) -> impl Iterator<Item = Program<'a>> {
    let waiter = move |thread: Thread| thread.locked(|| _ = thread.waits(deadline));
    (0..count).map(move |_| program(waiter))
}

/// Runs the threads until all are done, or nobody can run. A thread that panics ends the others.
pub fn run(schedule: &[u8], programs: &[Program]) -> Machine {
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
    pub fn sleepers(&self) -> Vec<usize> {
        let asleep = |thread: &usize| matches!(self.states[*thread], State::Asleep(_));
        (0..self.states.len()).filter(asleep).collect()
    }

    pub fn ended(&self, thread: usize) -> Option<Ended> {
        self.log.iter().find_map(|happened| match happened {
            Happened::Ended(other, ended) if *other == thread => Some(*ended),
            _ => None,
        })
    }

    pub fn at(&self, wanted: Happened) -> Option<usize> {
        self.log.iter().position(|happened| *happened == wanted)
    }

    pub fn is_waiting(&self, thread: usize) -> bool {
        let begins_or_ends = [Happened::Arrived(thread), Happened::Awake(thread)];
        self.log.iter().rfind(|happened| begins_or_ends.contains(happened)) == Some(&begins_or_ends[0])
    }

    /// How many signals were given, from one event to another.
    pub fn given(&self, from: usize, to: usize) -> usize {
        let count = |happened: &Happened| if let Happened::Given(count) = happened { *count as usize } else { 0 };
        self.log[from..to].iter().map(count).sum()
    }

    /// What holds however threads come and go, where each waits once: signals and the waits that they end can be paired so
    /// that each signal ends the wait of one that was blocked when it was given. It is enough to try the pairing that gives
    /// each signal to the one whose wait ends first.
    pub fn check(&self) {
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
    pub fn check_words(&self) {
        let word = |word| self.words.get(&word).copied().unwrap_or(0);
        let sleepers = self.sleepers().len() as u32;
        let first = word(TICKETS) ^ INDEX;
        assert_eq!(word(of(SIGNALS, first)), word(START), "signals that nobody takes: {:?}", self.log);
        assert_eq!(word(UNSIGNALLED) + word(UNSIGNALLED + 4), sleepers, "{:?}", self.log);
        assert_eq!(word(WAITERS) & !DESTROYED, (sleepers * WAITER) | MONOTONIC, "{:?}", self.log);
    }
}
