// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual runtime: how far a thread is behind the others of its CPU, which decides whether it preempts when it wakes.
//!
//! Linux's scheduler until 6.5 (CFS) counts each thread's time on a CPU. A woken thread preempts if the running one has
//! had more by the wake-up granularity. It keeps what it is behind until it has run for as long, however often it
//! sleeps meanwhile; but it cannot be behind by more than a sleeper's credit, and a new thread begins a slice ahead.
//! (CFS looks again at each timer tick, but preempts there only after a slice, which ends the turn here anyway.)
use crate::Sim;
use corefold_model::Ticks;

impl Sim {
    /// How long a thread runs before another that waits for its CPU gets it.
    pub fn timeslice(&self) -> Ticks {
        self.fair.timeslice
    }

    fn vruntime(&self, thread: usize, clock: Ticks) -> i64 {
        self.threads[thread].vruntime(clock)
    }

    /// Raises the CPU's smallest virtual runtime to that of its running thread or the first that is queued. It never falls.
    pub fn advance(&mut self, cpu: usize, clock: Ticks) {
        let slot = &self.cpus[cpu];
        let shown = slot.thread.into_iter().chain(slot.ready.front().copied());
        let first = shown.map(|thread| self.vruntime(thread, clock)).min();
        self.cpus[cpu].least_vruntime = slot.least_vruntime.max(first.unwrap_or(i64::MIN));
    }

    /// The thread, which does not run, comes to the CPU or wakes on it.
    pub fn join(&mut self, thread: usize, cpu: usize) {
        let here = self.cpus[cpu].least_vruntime;
        let vruntime = match self.threads[thread].cpu {
            Some(there) => self.vruntime(thread, 0) - self.cpus[there].least_vruntime + here,
            None => here + self.fair.timeslice as i64,
        };
        let runtime = &mut self.threads[thread];
        runtime.cpu = Some(cpu);
        runtime.shift = vruntime.max(here - self.fair.sleeper_credit) - runtime.until(0) as i64;
    }

    /// Is the thread so far behind the one that runs on the CPU that it preempts it?
    pub fn preempts(&self, thread: usize, cpu: usize, clock: Ticks) -> bool {
        let ahead = |running| self.vruntime(running, clock) - self.vruntime(thread, clock);
        self.cpus[cpu].thread.is_some_and(|running| ahead(running) > self.fair.wake_granularity)
    }

    /// Has the running thread had no more than the first that is queued?
    pub fn is_least(&self, cpu: usize, clock: Ticks) -> bool {
        let slot = &self.cpus[cpu];
        let pair = slot.thread.zip(slot.ready.front());
        pair.is_some_and(|(running, first)| self.vruntime(running, clock) <= self.vruntime(*first, clock))
    }

    /// Puts the thread into the CPU's run queue, `after` the first so many and behind those that have run less.
    pub fn queue(&mut self, thread: usize, cpu: usize, after: usize) {
        let own = self.vruntime(thread, 0);
        let ready = &self.cpus[cpu].ready;
        let place = ready.partition_point(|other| self.vruntime(*other, 0) <= own);
        let place = place.max(after).min(ready.len());
        self.cpus[cpu].ready.insert(place, thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use crate::{Options, Runtime};
    use proptest::prelude::*;

    proptest! {
        /// Threads that have run for so long, in the order in which they are queued: as a stable sort has them.
        #[test]
        fn a_run_queue_is_sorted_by_virtual_runtime(ran in prop::collection::vec(0u64..6, 1..20)) {
            let mut sim = Sim::new(&machine(), Options::new(2));
            sim.threads = ran.iter().map(|ran| Runtime { ran: *ran, ..Runtime::default() }).collect();
            (0..ran.len()).for_each(|thread| sim.queue(thread, 1, 0));
            let mut sorted: Vec<usize> = (0..ran.len()).collect();
            sorted.sort_by_key(|thread| ran[*thread]);
            prop_assert_eq!(&sim.cpus[1].ready, &sorted);
        }

        /// Whatever a thread has had elsewhere: it keeps what it is ahead or behind, but for more than the credit.
        #[test]
        fn a_thread_that_moves_is_as_far_ahead_as_it_was(ran in 0u64..1 << 40, there in 0i64..1 << 40, here in 0i64..1 << 40) {
            let mut sim = Sim::new(&machine(), Options::new(2));
            sim.threads = vec![Runtime { ran, cpu: Some(0), ..Runtime::default() }];
            (sim.cpus[0].least_vruntime, sim.cpus[1].least_vruntime) = (there, here);
            sim.join(0, 1);
            let ahead = (ran as i64 - there).max(-sim.fair.sleeper_credit);
            prop_assert_eq!(sim.vruntime(0, 0) - here, ahead);
        }

        /// The least virtual runtime never falls.
        #[test]
        fn the_least_of_a_cpu_only_rises(steps in prop::collection::vec((0usize..4, 0u64..1000), 1..40)) {
            let mut sim = Sim::new(&machine(), Options::new(1));
            sim.threads = vec![Runtime::default(); 4];
            let mut now = 0;
            for (thread, time) in steps {
                let before = sim.cpus[0].least_vruntime;
                sim.cpus[0].thread = Some(thread);
                sim.join(thread, 0);
                sim.threads[thread].begin(now);
                now += time;
                sim.advance(0, now);
                prop_assert!(sim.cpus[0].least_vruntime >= before.max(sim.vruntime(thread, now)));
                sim.threads[thread].end(now);
            }
        }
    }
}
