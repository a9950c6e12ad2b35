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

/// Of more requests that wait, one goes ahead of so many at most: each that it passes is timed again.
const MOST_PASSED: usize = 64;

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

/// A request that has not yet taken effect. Its times are those known so far: a request of the same agent that goes ahead
/// of it makes them later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    /// From 1.
    pub number: u64,
    pub core: u16,
    pub cpu: u16,
    /// The CPU of that core that writes to it, or asked for it.
    pub writer: u16,
    /// What speaks for the core to others: its cluster's cache.
    pub agent: u16,
    /// Whom it had to ask or tell when it was made was in its cluster: the nearest with a copy, or for a write all that had one.
    pub within: bool,
    /// The core gets the line alone: it wrote, or nobody else had it.
    pub alone: bool,
    pub dirty: bool,
    /// Others have to be told by a snoop.
    pub snooped: bool,
    /// No core's own caches had the line: what goes ahead of it would not find it there.
    pub left: bool,
    /// Its CPU has gone on, and does not ask again when the line arrives: others of its agent do not go ahead of it.
    pub firm: bool,
    /// When it reaches the line's home.
    pub request: Ticks,
    pub snoop_leg: Ticks,
    pub data_leg: Ticks,
    /// How long the access keeps the line once it is there.
    pub hold: Ticks,
    pub times: Times,
}

/// What those behind a request need to know of it.
#[derive(Clone, Copy)]
struct Before {
    agent: u16,
    alone: bool,
    times: Times,
}

/// Names a request.
#[derive(Clone, Copy, Default)]
pub(crate) struct Request {
    /// From 1; 0: none.
    pub number: u64,
    pub cpu: u16,
}

/// When a request takes effect.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// The snoop arrives: others have lost the line, or their exclusive hold on it.
    pub snoop: Ticks,
    /// The line has arrived, and served the access it was fetched for.
    pub settled: Ticks,
    /// The home can serve the next request: of the same agent, and of another one.
    pub home_free: Ticks,
    pub entered: Ticks,
}

/// What a line's home does for requests.
#[derive(Clone, Copy)]
pub(crate) struct Home {
    /// One after the other.
    pub queueing: bool,
    /// Those of one agent in the order in which they come.
    pub in_order: bool,
    /// Data passes by it, within a cluster.
    pub data_by: bool,
}

impl Grant {
    /// In place of a request: how a line came that nobody had asked its home for.
    fn none(state: State) -> Grant {
        Grant {
            number: 0,
            core: state.owner,
            cpu: NOBODY,
            writer: state.writer,
            agent: NOBODY,
            within: true,
            alone: true,
            dirty: state.dirty,
            snooped: false,
            left: false,
            firm: false,
            request: 0,
            snoop_leg: 0,
            data_leg: 0,
            hold: 0,
            times: Times { settled: state.settled, ..Times::default() },
        }
    }

    /// When the line arrives.
    pub fn arrival(&self) -> Ticks {
        self.times.settled - self.hold
    }

    fn before_others(&self) -> Before {
        Before { agent: self.agent, alone: self.alone, times: self.times }
    }

    /// Is it served within its cluster, behind that request?
    fn within(&self, before: &Before) -> bool {
        if before.alone && before.agent != NOBODY { before.agent == self.agent } else { self.within }
    }

    /// When its snoop could be where the line is, behind that request.
    fn reaches(&self, before: &Before) -> Ticks {
        let Times { home_free, entered, .. } = before.times;
        let free = if before.agent == self.agent || !self.snooped { home_free } else { entered };
        self.request.max(free) + self.snoop_leg
    }

    /// Its times, behind that request.
    fn follow(&mut self, mut before: Before, home: Home) {
        if !home.queueing {
            before.times = Times::default();
        }
        let (reaches, within) = (self.reaches(&before), self.within(&before));
        // The data is there, or with who sends it.
        let sent = if self.snooped { reaches.max(before.times.settled) } else { reaches };
        let snoop = if self.snooped { sent } else { reaches - self.snoop_leg };
        let home_free = sent + if home.data_by && within { self.data_leg / 2 } else { self.data_leg };
        let entered = if within && before.agent == self.agent { before.times.entered } else { home_free };
        self.times = Times { snoop, settled: sent + self.data_leg + self.hold, home_free, entered };
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub now: State,
    pub tail: State,
    /// The last request that took effect.
    last: Grant,
    /// Hits of one CPU of the owner in a row, and when the first was.
    pub hits: u8,
    pub alone_from: Ticks,
    /// It was written atomically: it is meant to be shared, and never becomes private again.
    pub atomic: bool,
    /// The socket whose memory it lies in.
    pub home: u8,
    /// When the snoop of the first in the queue arrives; the end of time if there is none.
    pub next_snoop: Ticks,
    /// When the snoop of the first arrives after which no other has a copy; the end of time if there is none. Reads do not take
    /// copies away.
    pub next_loss: Ticks,
    /// Where in the queue that one is.
    first_alone: usize,
    pub queue: VecDeque<Grant>,
}

impl Line {
    fn new(state: State, home: u8) -> Self {
        let (queue, next_snoop, next_loss) = (VecDeque::new(), Ticks::MAX, Ticks::MAX);
        let last = Grant::none(state);
        Line {
            now: state,
            tail: state,
            last,
            hits: 0,
            alone_from: 0,
            atomic: false,
            home,
            next_snoop,
            next_loss,
            first_alone: 0,
            queue,
        }
    }

    /// A request has been queued at this place, and others behind it may come later for it.
    fn queued(&mut self, place: usize) {
        let none = self.next_loss == Ticks::MAX;
        if self.queue[place].alone && (none || place <= self.first_alone) {
            self.first_alone = place;
        } else if none {
            return;
        } else if place <= self.first_alone {
            self.first_alone += 1;
        }
        self.next_loss = self.queue[self.first_alone].times.snoop;
    }

    /// The first of the queue has taken effect.
    fn served(&mut self) {
        self.next_snoop = self.queue.front().map_or(Ticks::MAX, |next| next.times.snoop);
        if self.next_loss == Ticks::MAX {
            return;
        }
        if self.first_alone > 0 {
            self.first_alone -= 1;
            return;
        }
        let next = self.queue.iter().position(|grant| grant.alone);
        self.first_alone = next.unwrap_or(0);
        self.next_loss = next.map_or(Ticks::MAX, |at| self.queue[at].times.snoop);
    }

    /// Where in the queue a request of `agent` goes that reaches it at `request`, if not to the end. Requests of one agent
    /// follow each other, in an order that `drawn` decides: one goes ahead of those of other agents that have not been where
    /// the line is by then.
    pub fn ahead(&self, agent: u16, request: Ticks, drawn: u64) -> Option<usize> {
        let place = self.ahead_of_others(agent, request, drawn)?;
        Some(place).filter(|place| *place > 0 || !self.queue[0].left)
    }

    fn ahead_of_others(&self, agent: u16, request: Ticks, drawn: u64) -> Option<usize> {
        let same = self.queue.iter().rposition(|other| other.agent == agent);
        if let Some(place) = same.and_then(|last| self.among(last, request, drawn)) {
            return Some(place);
        }
        let place = match same {
            Some(at) => at + 1,
            None if self.last.agent == agent => 0,
            None => return None,
        };
        // Where others have copies, too, the ways of later requests are to the farthest of them.
        let alone = self.before(place).0 != NOBODY;
        let before = same.map_or(&self.last, |at| &self.queue[at]).before_others();
        self.queue.get(place).filter(|next| alone && request <= next.reaches(&before)).map(|_| place)
    }

    /// A place ahead of one of those of an agent, of which this is the last, that wait with a request at `request`; `None`
    /// for the place behind them. A request that meets another one to its line is rejected and tries again, until it happens
    /// to come when none is being served.
    fn among(&self, last: usize, request: Ticks, drawn: u64) -> Option<usize> {
        let agent = self.queue[last].agent;
        let previous = |at: usize| at.checked_sub(1).map_or(&self.last, |before| &self.queue[before]);
        let waits = |at: usize| {
            let grant = &self.queue[at];
            let passes = grant.agent == agent && !grant.firm;
            passes && request <= grant.reaches(&previous(at).before_others()) && self.before(at).0 != NOBODY
        };
        let waiting = (0..=last).rev().take(MOST_PASSED).take_while(|at| waits(*at)).count() as u64;
        let behind = drawn % (waiting + 1);
        behind.checked_sub(1).map(|others| last - others as usize)
    }

    /// What a request there would find: the core that has the line alone, if any, and whether it has written to it.
    pub fn before(&self, place: usize) -> (u16, bool) {
        match place.checked_sub(1).map(|at| &self.queue[at]) {
            Some(before) => (if before.alone { before.core } else { NOBODY }, before.dirty),
            None => (self.now.owner, self.now.dirty),
        }
    }

    /// The times of all requests from this place on.
    fn follow_up(&mut self, from: usize, home: Home) {
        let mut before = from.checked_sub(1).map_or(&self.last, |at| &self.queue[at]).before_others();
        for grant in self.queue.range_mut(from..) {
            grant.follow(before, home);
            before = grant.before_others();
        }
    }

    /// The core that has it writes to it, if this access does. Whether it was clean until then.
    pub fn written(&mut self, access: &Access) -> bool {
        if !access.kind.writes() {
            return false;
        }
        let (dirtied, writer) = (!self.now.dirty, access.cpu as u16);
        if self.now.writer != writer {
            self.hits = 0;
        }
        self.now = State { dirty: true, writer, ..self.now };
        if self.queue.is_empty() {
            self.tail.dirty = true;
        }
        dirtied
    }
}

/// The records of all lines that two or more CPUs touched, with their sets of sharers.
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// For each line two sets of cores (now, tail), `words` words each.
    sets: Vec<u64>,
    words: usize,
    /// Requests of each CPU that are queued, for any line; the last are those of no CPU, but of a prefetcher.
    queued: Vec<u32>,
}

#[derive(Clone, Copy)]
pub(crate) enum When {
    Now = 0,
    Tail = 1,
}

impl Lines {
    pub fn new(cores: u32, cpus: u32) -> Self {
        let queued = vec![0; cpus as usize + 1];
        Lines { lines: Vec::new(), sets: Vec::new(), words: (cores as usize).div_ceil(64), queued }
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
        line.last = Grant::none(state);
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
            *self.queued_by(grant.cpu) -= 1;
            let line = &mut self.lines[index];
            line.served();
            line.last = grant;
            line.hits = 0;
            self.apply(index, When::Now, &grant);
        }
    }

    /// This CPU of the core that is to have the line last will write to it.
    pub fn write_on_arrival(&mut self, index: usize, writer: u16) {
        let line = &mut self.lines[index];
        line.tail = State { dirty: true, writer, ..line.tail };
        match line.queue.back_mut() {
            Some(last) => (last.dirty, last.writer) = (true, writer),
            None => line.now = State { dirty: true, writer, ..line.now },
        }
    }

    fn slot(&self, cpu: u16) -> usize {
        usize::from(cpu).min(self.queued.len() - 1)
    }

    fn queued_by(&mut self, cpu: u16) -> &mut u32 {
        let slot = self.slot(cpu);
        &mut self.queued[slot]
    }

    /// Queues a request at its place, or as the last, and returns when the line arrives.
    pub fn push(&mut self, index: usize, place: Option<usize>, grant: Grant, home: Home) -> Ticks {
        let place = place.unwrap_or(self.lines[index].queue.len());
        *self.queued_by(grant.cpu) += 1;
        let line = &mut self.lines[index];
        line.queue.insert(place, grant);
        line.follow_up(place, home);
        line.queued(place);
        let arrival = line.queue[place].arrival();
        if place + 1 == line.queue.len() {
            let last = line.queue[place];
            self.apply(index, When::Tail, &last);
        } else {
            self.replay(index);
        }
        let line = &mut self.lines[index];
        line.next_snoop = line.queue[0].times.snoop;
        arrival
    }

    /// The tail state, when a request has gone ahead of others.
    fn replay(&mut self, index: usize) {
        let from = self.lines[index].queue.iter().rposition(|grant| grant.alone).unwrap_or(0);
        if !self.lines[index].queue[from].alone {
            self.lines[index].tail = self.lines[index].now;
            let (now, tail) = ((2 * index) * self.words, (2 * index + 1) * self.words);
            self.sets.copy_within(now..now + self.words, tail);
        }
        for at in from..self.lines[index].queue.len() {
            let grant = self.lines[index].queue[at];
            self.apply(index, When::Tail, &grant);
        }
    }

    /// When the line is there that `cpu` waits for by the request of this number, as far as is known by `now`; `None` if it
    /// is. What a sibling has asked for serves the sibling first.
    pub fn awaited(&self, index: usize, cpu: u16, request: Request, now: Ticks) -> Option<Ticks> {
        let line = &self.lines[index];
        // Most have just been served: a contended line's queue is long.
        let queued = line.queue.iter().take(if self.queued[self.slot(request.cpu)] > 0 { usize::MAX } else { 0 });
        let grant = [&line.last].into_iter().chain(queued).find(|grant| grant.number == request.number)?;
        Some(if grant.cpu == cpu { grant.arrival() } else { grant.times.settled }).filter(|there| *there > now)
    }

    /// When the line arrives that a store of `cpu` has asked for, and that is still on its way.
    pub fn coming(&self, index: usize, cpu: u16) -> Option<Ticks> {
        let mut requests = self.lines[index].queue.iter();
        requests.find(|grant| grant.cpu == cpu && grant.dirty).map(Grant::arrival)
    }

    /// The last request for the line.
    pub fn youngest(&self, index: usize) -> Request {
        let line = &self.lines[index];
        let Grant { number, cpu, .. } = *line.queue.back().unwrap_or(&line.last);
        Request { number, cpu }
    }

    fn apply(&mut self, index: usize, when: When, grant: &Grant) {
        let (settled, since) = (grant.times.settled, grant.times.snoop);
        let before = match when {
            When::Now => self.lines[index].now,
            When::Tail => self.lines[index].tail,
        };
        let state = if grant.alone {
            self.only(index, when, grant.core);
            State { owner: grant.core, writer: grant.writer, dirty: grant.dirty, settled, since }
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Home = Home { queueing: true, in_order: false, data_by: false };

    /// Of these, in the order of the queue, those for the line alone take copies away.
    fn grant(number: u64, alone: bool) -> Grant {
        let state = State { owner: 0, writer: 0, dirty: false, settled: 0, since: 0 };
        let cpu = (number % 4) as u16;
        let times = Times::default();
        Grant {
            number,
            core: cpu,
            cpu,
            agent: cpu,
            alone,
            snooped: alone,
            snoop_leg: 10,
            data_leg: 20,
            times,
            ..Grant::none(state)
        }
    }

    /// Requests come, at places that are drawn, and take effect, in any order.
    #[test]
    fn when_a_copy_will_be_lost_is_told_by_the_first_in_the_queue_that_takes_it() {
        let mut lines = Lines::new(4, 4);
        let owner = State { owner: 0, writer: 0, dirty: false, settled: 0, since: 0 };
        let index = lines.add(owner, 0) as usize;
        let (mut drawn, mut met) = (1u64, [0; 2]);
        for number in 1..=5000 {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (bits, queued) = (drawn >> 33, lines.get(index).queue.len());
            if bits % 8 < 4 {
                let next = lines.get(index).next_snoop;
                lines.settle(index, next.min(Ticks::MAX - 1));
            } else {
                let place = Some(bits as usize / 64 % (queued + 1)).filter(|place| *place < queued);
                lines.push(index, place, grant(number, bits / 8 % 4 == 0), HOME);
            }
            let line = lines.get(index);
            let first = line.queue.iter().find(|grant| grant.alone);
            assert_eq!(line.next_loss, first.map_or(Ticks::MAX, |grant| grant.times.snoop), "after {number}");
            assert_eq!(line.next_snoop, line.queue.front().map_or(Ticks::MAX, |grant| grant.times.snoop));
            met[usize::from(first.is_some())] += 1;
            let queued = lines.lines[index].queue.iter().filter(|grant| grant.cpu == 2).count();
            assert_eq!(lines.queued[2] as usize, queued);
        }
        assert!(met.iter().all(|times| *times > 100), "{met:?}");
    }
}
