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
        let end = hot!().frames.cast_const();
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
    tried: Update,
    tried_at: Instant,
    /// What it was when the current spin began, if the thread has neither spun nor computed in between.
    joined: Option<Update>,
    /// When the last spin was over.
    spun_until: Ticks,
}

impl Waits {
    /// A spin begins. It may continue the wait if the thread has computed for no longer than `longest` in between.
    pub fn begins(&mut self, begin: Instant, longest: Ticks) {
        let at_once = self.tried_at.at > self.spun_until && computed(self.tried_at, begin) <= longest;
        self.joined = at_once.then_some(self.tried);
        if self.current.is_some_and(|wait| computed(wait.end, begin) > longest) {
            self.end();
        }
    }

    /// The queue in which the thread waits, if its current spin, on `word`, is that.
    pub fn queue(&self, word: u64) -> Option<Queue> {
        self.joined?.queue(word)
    }

    /// A spin is over.
    pub fn spun(&mut self, spin: Spin) {
        self.spun_until = spin.end.at;
        if let Some(wait) = self.current.as_mut().filter(|wait| wait.address == spin.address) {
            *wait = Spin { time: wait.time + spin.time, queue: wait.queue, ..spin };
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
        (self.tried, self.tried_at) = (update, now);
    }

    /// Was it this one?
    pub fn tried(&self, address: u64) -> bool {
        self.tried.address == address
    }

    /// And was that after `time`?
    pub fn tried_since(&self, address: u64, time: Ticks) -> bool {
        self.tried(address) && self.tried_at.at > time
    }

    /// The thread waits no more.
    pub fn end(&mut self) {
        if let Some(wait) = self.current.take() {
            let address = LOCKS.with(|locks| {
                let address = locks.awaited(wait.address, wait.queue);
                locks.spun(address, wait.address, wait.time, wait.pc, &wait.callers);
                address
            });
            self.over = Over { address, time: wait.time, at: wait.end.at };
        }
    }
}

fn computed(from: Instant, to: Instant) -> Ticks {
    to.at.saturating_sub(from.at).saturating_sub(to.idle.saturating_sub(from.idle))
}
