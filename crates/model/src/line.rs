// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line that more than one CPU has touched: its owner, sharers and queued requests.
//!
//! Requests queue at the line's home, so the moment at which each is served is known as soon as it is
//! made. A line therefore has two states: what holds *now*, and the *tail*, what will hold when every
//! request in the queue has been served. Until the snoop of the first queued request arrives, the
//! current owner keeps hitting.
use crate::{Access, Ticks};
use alloc::{collections::VecDeque, vec, vec::Vec};

pub(crate) const NOBODY: u16 = u16::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The core that alone has the line, or [`NOBODY`].
    pub owner: u16,
    /// The CPU of that core that last wrote: tells SMT siblings apart, which share a copy.
    pub writer: u16,
    pub dirty: bool,
    /// When the owner's copy arrived or will have arrived and served the access it was fetched for.
    pub settled: Ticks,
    /// When those who could write before lost that right, by invalidation or by sharing: until then they may write.
    pub since: Ticks,
}

/// A request whose time is known and that has not yet taken effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    pub core: u16,
    pub cpu: u16,
    /// The core gets the line alone: it wrote, or nobody else had it.
    pub alone: bool,
    pub dirty: bool,
    /// The snoop arrives: others have lost the line, or their exclusive hold on it.
    pub snoop: Ticks,
    /// The line arrives.
    pub arrival: Ticks,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub now: State,
    pub tail: State,
    /// When the home can begin to serve the next request.
    pub home_free: Ticks,
    /// Hits of the owner in a row.
    pub hits: u8,
    /// It was written atomically: it is meant to be shared, and never becomes private again.
    pub atomic: bool,
    /// The socket whose memory it lies in.
    pub home: u8,
    /// When the snoop of the first in the queue arrives; the end of time if there is none.
    pub next_snoop: Ticks,
    pub queue: VecDeque<Grant>,
}

impl Line {
    fn new(state: State, home: u8) -> Self {
        let (queue, next_snoop) = (VecDeque::new(), Ticks::MAX);
        Line { now: state, tail: state, home_free: 0, hits: 0, atomic: false, home, next_snoop, queue }
    }

    /// The core that has it writes to it, if this access does.
    pub fn written(&mut self, access: &Access) {
        if access.kind.writes() {
            self.now.dirty = true;
            if self.queue.is_empty() {
                self.tail.dirty = true;
            }
        }
    }
}

/// The records of all lines that two or more CPUs touched, with their sets of sharers.
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// For each line two sets of cores (now, tail), `words` words each.
    sets: Vec<u64>,
    words: usize,
}

#[derive(Clone, Copy)]
pub(crate) enum When {
    Now = 0,
    Tail = 1,
}

impl Lines {
    pub fn new(cores: u32) -> Self {
        Lines { lines: Vec::new(), sets: Vec::new(), words: (cores as usize).div_ceil(64) }
    }

    /// A new record of a line that one core has alone.
    pub fn add(&mut self, state: State, home: u8) -> u32 {
        self.lines.push(Line::new(state, home));
        self.sets.extend(vec![0; 2 * self.words]);
        let index = self.lines.len() - 1;
        self.revive(index, state);
        index as u32
    }

    /// A new record of a line that some cores have read.
    pub fn add_read(&mut self, state: State, readers: &[u64], home: u8) -> u32 {
        self.lines.push(Line::new(state, home));
        self.sets.extend_from_slice(readers);
        self.sets.extend_from_slice(readers);
        self.lines.len() as u32 - 1
    }

    /// The record of a line that a core had to itself for a while is needed again.
    pub fn revive(&mut self, index: usize, state: State) {
        let line = &mut self.lines[index];
        line.now = state;
        line.tail = state;
        line.hits = 0;
        self.only(index, When::Now, state.owner);
        self.only(index, When::Tail, state.owner);
    }

    #[inline]
    pub fn get(&mut self, index: usize) -> &mut Line {
        &mut self.lines[index]
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    #[inline]
    pub fn set(&self, index: usize, when: When) -> &[u64] {
        let at = (2 * index + when as usize) * self.words;
        &self.sets[at..at + self.words]
    }

    #[inline]
    fn set_mut(&mut self, index: usize, when: When) -> &mut [u64] {
        let at = (2 * index + when as usize) * self.words;
        &mut self.sets[at..at + self.words]
    }

    #[inline]
    pub fn has(&self, index: usize, when: When, core: u16) -> bool {
        self.set(index, when)[usize::from(core >> 6)] >> (core & 63) & 1 != 0
    }

    pub fn insert(&mut self, index: usize, when: When, core: u16) {
        self.set_mut(index, when)[usize::from(core >> 6)] |= 1 << (core & 63);
    }

    pub fn only(&mut self, index: usize, when: When, core: u16) {
        self.set_mut(index, when).fill(0);
        self.insert(index, when, core);
    }

    /// Lets every queued request take effect whose snoop has arrived by `time`.
    #[inline]
    pub fn settle(&mut self, index: usize, time: Ticks) {
        while self.lines[index].next_snoop <= time {
            let queue = &mut self.lines[index].queue;
            let grant = queue.pop_front().expect("the first in the queue has a time");
            self.lines[index].next_snoop = self.lines[index].queue.front().map_or(Ticks::MAX, |next| next.snoop);
            self.apply(index, When::Now, &grant);
        }
    }

    /// The core that is to have the line last will write to it.
    pub fn write_on_arrival(&mut self, index: usize) {
        let line = &mut self.lines[index];
        line.tail.dirty = true;
        match line.queue.back_mut() {
            Some(last) => last.dirty = true,
            None => line.now.dirty = true,
        }
    }

    /// Queues a request: the tail state is what follows from it.
    pub fn push(&mut self, index: usize, grant: Grant) {
        self.apply(index, When::Tail, &grant);
        let line = &mut self.lines[index];
        if line.queue.is_empty() {
            line.next_snoop = grant.snoop;
        }
        line.queue.push_back(grant);
    }

    fn apply(&mut self, index: usize, when: When, grant: &Grant) {
        let (settled, since) = (grant.arrival, grant.snoop);
        let before = match when {
            When::Now => self.lines[index].now,
            When::Tail => self.lines[index].tail,
        };
        let state = if grant.alone {
            self.only(index, when, grant.core);
            State { owner: grant.core, writer: grant.cpu, dirty: grant.dirty, settled, since }
        } else {
            self.insert(index, when, grant.core);
            let since = if before.owner == NOBODY { before.since } else { since };
            State { owner: NOBODY, writer: NOBODY, dirty: false, settled, since }
        };
        match when {
            When::Now => self.lines[index].now = state,
            When::Tail => self.lines[index].tail = state,
        }
    }
}
