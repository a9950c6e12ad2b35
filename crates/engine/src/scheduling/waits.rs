// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits that consist of several spins: a thread sees the word change, tries to take it, or looks whether it is its turn,
//! and spins again. It is one wait until the thread stores something, or computes.
use crate::counts::lock_table::LOCKS;
use crate::hot::hot;
use crate::state::hooks::calls;
use corefold_model::Ticks;
use corefold_sim::{Queue, Update};

/// Where a thread was at some time, and for how long it had not computed by then.
#[derive(Clone, Copy, Default)]
pub struct Instant {
    pub at: Ticks,
    pub idle: Ticks,
}

/// The list of the running thread's calls as it was at some time: where it ended, and its last entry.
#[derive(Clone, Copy)]
pub struct Calls {
    pub end: *const u64,
    pub innermost: u64,
}

/// So many of the calls around a spin are kept.
pub const CALLERS: usize = 4;

impl Calls {
    #[inline]
    pub fn now() -> Calls {
        let end = hot().frames.get().cast_const();
        // SAFETY: the list's last entry, or memory of its margin below where it is empty.
        Calls { end, innermost: unsafe { end.sub(1).read() } }
    }

    /// The calls then, of a thread whose list begins at `base`, innermost first, as far as they are known still: an entry stays until another takes its place.
    pub fn callers(self, base: *const u64) -> [u64; CALLERS] {
        let mut callers = [0; CALLERS];
        // SAFETY: as above; the list's memory stays.
        if self.innermost != 0 && unsafe { self.end.sub(1).read() } == self.innermost {
            callers.iter_mut().zip(calls(base, self.end)).for_each(|(slot, pc)| *slot = pc);
        }
        callers
    }
}

/// One spin that is over: on which word, and where that was read last.
#[derive(Clone, Copy)]
pub struct Spin {
    pub address: u64,
    /// That the thread has joined to wait here.
    pub queue: Option<Queue>,
    /// Has the word changed, or was it polled by an update?
    pub changed: bool,
    pub begin: Ticks,
    pub pc: u64,
    pub callers: [u64; CALLERS],
    pub time: Ticks,
    pub end: Instant,
}

/// A wait that is over: for which word (or queue), for how long, and until when.
#[derive(Clone, Copy, Default)]
pub struct Over {
    pub address: u64,
    pub time: Ticks,
    pub at: Ticks,
}

/// The wait of a thread that may go on.
#[derive(Default)]
pub struct Waits {
    /// Not yet accounted for.
    current: Option<Spin>,
    /// The last that is over, until [`crate::scheduling::fiber::Fiber::takes_back`] has taken note of it.
    pub over: Over,
    /// The last updates, and when they were; the newest is at `newest`.
    updates: [(Update, Instant); UPDATES],
    newest: usize,
    /// When the current spin began, and when the last one before it was over.
    begin: Instant,
    before: Ticks,
    spun_until: Ticks,
    /// Where the thread last spun in a queue, and in which.
    queued: Option<(u64, Queue)>,
}

/// Between joining a queue and spinning, a thread makes fewer updates: it links itself, and counts itself.
const UPDATES: usize = 4;

impl Waits {
    /// A spin begins. It may continue the wait if the thread has computed for no longer than `longest` in between.
    pub fn begins(&mut self, begin: Instant, longest: Ticks) {
        (self.begin, self.before) = (begin, self.spun_until);
        if self.current.is_some_and(|wait| computed(wait.end, begin) > longest) {
            self.end();
        }
    }

    /// The queue in which the thread waits, if its current spin, on `word`, is that: it has joined it shortly before the spin
    /// began, or spun there before and updated nothing since.
    pub fn queue(&self, word: u64, longest: Ticks) -> Option<Queue> {
        let updates = (0..UPDATES).map(|back| &self.updates[(self.newest + UPDATES - back) % UPDATES]);
        let mut since = updates.filter(|(_, at)| at.at > self.before && at.at <= self.begin.at).peekable();
        if since.peek().is_none() {
            return self.queued.filter(|(spun, _)| *spun == word).map(|(_, queue)| queue);
        }
        let shortly = since.enumerate().filter(|(_, (_, at))| computed(*at, self.begin) <= longest);
        // Of numbers only the last exchange tells: they may be of something else.
        shortly
            .filter_map(|(back, (update, _))| Some((back, update.queue(word)?)))
            .find_map(|(back, queue)| (back == 0 || !queue.numbered).then_some(queue))
    }

    /// A spin is over.
    pub fn spun(&mut self, spin: Spin) {
        self.spun_until = spin.end.at;
        self.queued = spin.queue.map(|queue| (spin.address, queue));
        if let Some(wait) = self.current.as_mut().filter(|wait| wait.address == spin.address) {
            *wait = Spin { time: wait.time + spin.time, queue: wait.queue, begin: wait.begin, ..spin };
            return;
        }
        self.end();
        self.current = Some(spin);
    }

    /// The thread has looked at the word again, which has changed, and has hardly computed since it last did.
    #[inline]
    pub fn go_on(&mut self, address: u64, now: Instant) {
        if let Some(wait) = self.current.as_mut().filter(|wait| wait.address == address) {
            wait.end = now;
        }
    }

    /// The thread has updated a word.
    pub fn tries(&mut self, update: Update, now: Instant) {
        self.newest = (self.newest + 1) % UPDATES;
        self.updates[self.newest] = (update, now);
    }

    /// The lock that the thread has queued for by the last one, if it sleeps on `word` next.
    pub fn lock_of_sleeper(&self, word: u64) -> Option<u64> {
        self.updates[self.newest].0.lock_of_sleeper(word)
    }

    /// Was it this one?
    pub fn tried(&self, address: u64) -> bool {
        self.updates[self.newest].0.address == address
    }

    /// And was that after `time`?
    pub fn tried_since(&self, address: u64, time: Ticks) -> bool {
        self.tried(address) && self.updates[self.newest].1.at > time
    }

    /// The thread waits no more.
    pub fn end(&mut self) {
        let Some(wait) = self.current.take() else { return };
        // Who takes the word itself has not waited in a queue.
        let taken = wait.changed && self.tried_since(wait.address, wait.end.at);
        let queue = wait.queue.filter(|_| !taken);
        let (address, counts) = LOCKS.with(|locks| {
            let address = locks.awaited(wait.address, wait.begin, queue);
            (address, locks.spun(address, wait.address, wait.time, wait.pc, &wait.callers))
        });
        if counts {
            self.over = Over { address, time: wait.time, at: wait.end.at };
        }
    }
}

fn computed(from: Instant, to: Instant) -> Ticks {
    to.at.saturating_sub(from.at).saturating_sub(to.idle.saturating_sub(from.idle))
}
