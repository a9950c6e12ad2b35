// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPU a thread goes to when it can run, and which thread a CPU runs next.
//!
//! As Linux does: a woken thread goes to its own CPU if that is idle, or to the nearest idle one, on a core with nothing to
//! do if one is as near; if none is idle, into its own CPU's run queue, where it may preempt. A CPU with nothing to run takes
//! a thread from the longest run queue nearest to it. Near is what shares a last-level cache, a socket, or a group of sockets
//! (Linux's scheduling domains).
use crate::Sim;
use core::cmp::Reverse;
use corefold_model::Ticks;

/// A thread has come to a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    pub thread: usize,
    pub cpu: usize,
    /// When it runs.
    pub since: Ticks,
    /// For the first time.
    pub first: bool,
}

/// What becomes of a thread that can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// It gets a CPU that was idle.
    Runs(Begun),
    /// It is in the run queue of this CPU.
    Waits(usize),
}

impl Sim {
    fn distance(&self, a: usize, b: usize) -> u32 {
        self.cpus[a].place.distance(&self.cpus[b].place)
    }

    /// A thread that is blocked, or new, can run from `at` on, and does so `latency` later if a CPU is idle. `home` is the CPU
    /// that it ran on last.
    pub fn wake(&mut self, thread: usize, home: usize, at: Ticks, latency: Ticks) -> Woken {
        if let Some(cpu) = self.nearest_idle(thread, home) {
            let left = self.cpus[cpu].clock;
            let begun = self.begin(thread, cpu, at + latency);
            (self.cpus[cpu].busy_from, self.cpus[cpu].busy_until) = (begun.since, left);
            return Woken::Runs(begun);
        }
        let allowed = (0..self.cpus.len()).filter(|c| self.threads[thread].may_run_on(*c));
        let cpu = allowed.min_by_key(|c| (*c != home, self.distance(home, *c))).unwrap_or(home);
        self.line_up(thread, cpu, at, latency);
        Woken::Waits(cpu)
    }

    fn nearest_idle(&self, thread: usize, home: usize) -> Option<usize> {
        let idle = |c: &usize| self.cpus[*c].thread.is_none() && self.cpus[*c].ready.is_empty();
        let allowed = |c: &usize| self.threads[thread].may_run_on(*c);
        if allowed(&home) && idle(&home) {
            return Some(home);
        }
        let others = (home + 1..self.cpus.len()).chain(0..home).filter(|c| idle(c) && allowed(c));
        let hardware_thread = |c: usize| self.cpus[c].place.hardware_thread;
        others.min_by_key(|c| (self.distance(home, *c), self.sibling_busy(*c), hardware_thread(*c)))
    }

    /// Into the run queue of a busy CPU: first, and soon, if it preempts the running one.
    fn line_up(&mut self, thread: usize, cpu: usize, at: Ticks, latency: Ticks) {
        self.advance(cpu, at);
        self.join(thread, cpu);
        if self.cpus[cpu].preempted_at != Ticks::MAX {
            self.queue(thread, cpu, 1);
        } else if self.preempts(thread, cpu, at) {
            self.cpus[cpu].ready.push_front(thread);
            self.cpus[cpu].preempted_at = at + latency;
        } else {
            self.queue(thread, cpu, 0);
        }
    }

    /// The CPU's thread has left it at `clock`: the next one that waits for it begins, or one that waits for another; or the
    /// CPU is idle.
    pub fn run_next(&mut self, cpu: usize, clock: Ticks) -> Option<Begun> {
        self.cpus[cpu].thread = None;
        self.cpus[cpu].clock = clock;
        let next = self.cpus[cpu].ready.pop_front().or_else(|| self.steal(cpu))?;
        Some(self.begin(next, cpu, clock + self.context_switch))
    }

    /// Takes a thread that may run on this CPU from another one's run queue.
    fn steal(&mut self, cpu: usize) -> Option<usize> {
        let first = |c: usize| self.cpus[c].ready.iter().position(|thread| self.threads[*thread].may_run_on(cpu));
        let some = (0..self.cpus.len()).filter_map(|c| Some((c, first(c)?)));
        let (from, at) = some.min_by_key(|(c, _)| (self.distance(cpu, *c), Reverse(self.cpus[*c].ready.len()), *c))?;
        self.cpus[from].ready.remove(at)
    }

    fn begin(&mut self, thread: usize, cpu: usize, clock: Ticks) -> Begun {
        self.join(thread, cpu);
        let timeslice = self.timeslice();
        let slot = &mut self.cpus[cpu];
        let idle = clock.saturating_sub(slot.clock);
        slot.clock += idle;
        // The time to the next sample carries on: a thread that runs for moments at a time
        // would be charged a whole period for each otherwise.
        slot.next_sample += idle;
        slot.counted += idle;
        slot.thread = Some(thread);
        slot.slice_end = slot.clock + timeslice;
        slot.preempted_at = Ticks::MAX;
        let since = slot.clock;
        self.clocks.push(since, cpu as u32);
        Begun { thread, cpu, since, first: self.threads[thread].begin(since) }
    }

    /// The thread waits in no run queue any more.
    pub fn unqueue(&mut self, thread: usize) {
        self.cpus.iter_mut().for_each(|cpu| cpu.ready.retain(|other| *other != thread));
    }

    /// Is the running thread's turn over at `clock`, and another's come? If it has had no more than that one, it begins another
    /// slice.
    pub fn turn_passes(&mut self, clock: Ticks) -> bool {
        let cpu = self.cpu;
        let goes_on = self.is_least(cpu, clock);
        if goes_on {
            self.cpus[cpu].slice_end = clock + self.timeslice();
        }
        !goes_on
    }

    /// Interrupts these CPUs, in ascending order, whose handler takes so long once their accesses and stores are complete.
    /// Returns when the last of them has completed these, if that is after `clock`.
    pub fn interrupt(&mut self, targets: &[usize], takes: Ticks, clock: Ticks) -> Ticks {
        let mut last = clock;
        let Sim { clocks, cpus, model, stores, .. } = self;
        clocks.delay(|cpu, clock| {
            let clock = match targets.binary_search(&(cpu as usize)) {
                Ok(_) => {
                    let drained = stores.make_certain(cpu, model.drain(cpu, clock));
                    last = last.max(drained);
                    drained + takes
                }
                Err(_) => clock,
            };
            cpus[cpu as usize].clock = clock;
            clock
        });
        last
    }
}

#[cfg(test)]
mod tests;
