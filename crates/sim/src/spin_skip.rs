// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spin skip: a CPU that spins on an unchanging word repeats itself, so its iterations need not be simulated one
//! by one. Its clock is advanced by whole iterations of the loop, and set back when another CPU requests one
//! of the lines that the loop reads. So a thousand CPUs may wait for one without costing the host a thousand
//! times as much.
use crate::spins::{Skip, Skipped, Spin, SpinSkips};
use crate::{Lease, Memory, Sim, Tags};
use core::ops::Range;
use corefold_model::Ticks;

impl Sim {
    /// The running CPU has just repeated its read: it begins to skip, for no longer than `longest`, nor than until a store that
    /// waits for one of the lines it watches takes effect. Returns whether it did; others run next, and then it has to read
    /// again.
    pub fn skip(&mut self, lease: &Lease, tags: &mut impl Tags, spin: Spin, longest: Ticks) -> bool {
        if self.step_by_step {
            return false;
        }
        let (cpu, clock) = (self.cpu, lease.clock.get());
        let lines = spin.watches().map(|watched| watched.line);
        let mut ends = clock.saturating_add(longest).min(self.cpus[cpu].turn_ends()).min(self.sibling_changes());
        for line in lines {
            ends = ends.min(self.model.quiet_until(tags.tag(line).get(), cpu as u32));
            // A store that is still in a store buffer wakes nobody when it commits.
            ends = ends.min(self.stores.next_on(&(line..line + self.line_bytes)));
        }
        if !self.model.is_idle(cpu as u32) || self.cpus[cpu].run_ahead.is_ahead() {
            return false;
        }
        // A turn that begins then is no more.
        let turns = ends.saturating_sub(clock + 1) / spin.period.max(1);
        // An iteration that took no time was hidden behind a locked operation's wait: that ends.
        if turns == 0 || spin.period == 0 {
            return false;
        }
        lease.clock.set(clock + turns * spin.period);
        self.skips.begin(cpu, Skip { since: clock, spin, disturbed: false });
        true
    }

    /// The CPU's skip, if any, ends at `clock`.
    pub fn end_skip(&mut self, cpu: usize, clock: Ticks) -> Option<Skipped> {
        let skip = self.skips.end(cpu)?;
        // Its next read is at `clock`, one iteration after the last that is skipped.
        let time = clock.saturating_sub(skip.since).saturating_sub(skip.spin.period);
        Some(Skipped { time, disturbed: skip.disturbed })
    }

    /// Another CPU requests the line at `address` at `time`: the CPUs that watch it read it again. Returns whether any does;
    /// then the limit is to be set anew.
    #[inline]
    pub fn touched(&mut self, address: u64, time: Ticks) -> bool {
        let line = self.line_start(address);
        !self.skips.watched.is_empty() && self.skips.watched.contains_key(&line) && self.rouse_watchers(line, time)
    }

    /// All that `cpu` has stored takes effect at `now`, before its time: who watches one of these lines reads it again, as with
    /// [`Sim::touched`].
    pub fn commit_early(&mut self, memory: &mut impl Memory, cpu: u32, now: Ticks) -> bool {
        let mut watched = false;
        for number in 0..self.stores.waiting(cpu) {
            watched |= self.touched(self.stores.address(cpu, number), now);
        }
        self.stores.commit_all_of(memory, cpu, self.cpu as u32);
        watched
    }

    /// The same of what waits for any of these bytes, as they are about to be unmapped or used anew.
    #[inline]
    pub fn commit_on(&mut self, memory: &mut impl Memory, bytes: &Range<u64>, now: Ticks) -> bool {
        let any = self.stores.any_on(bytes);
        if any {
            self.skips.cpus.iter_mut().flatten().for_each(|skip| skip.disturbed = true);
            self.rouse_all(now);
            self.stores.commit_on(memory, bytes, self.cpu as u32);
        }
        any
    }

    fn rouse_watchers(&mut self, line: u64, time: Ticks) -> bool {
        for skip in self.skips.cpus.iter_mut().flatten() {
            skip.disturbed |= skip.spin.read.iter().any(|watched| watched.line == line);
        }
        let running = self.cpu;
        self.rouse(|cpu, skip| {
            let these = skip.spin.watches().filter(|watched| watched.line == line);
            these.map(|watched| skip.turn_with(watched.after, cpu, running, time)).min()
        });
        true
    }

    /// The CPU has something else to do at `time`. Returns whether it skips; then the skip is to be ended.
    pub fn disturb(&mut self, cpu: usize, time: Ticks) -> bool {
        let skips = self.skips.cpus[cpu].is_some();
        if skips {
            let running = self.cpu;
            self.rouse(|c, skip| (c == cpu).then(|| skip.turn_with(0, cpu, running, time)));
        }
        skips
    }

    /// The CPU begins or ends to run something at `time`, in the midst of a turn of its siblings, which takes longer or less
    /// than the last: they go on where that turn begins. Returns whether any skips.
    pub fn rouse_siblings(&mut self, cpu: usize, time: Ticks) -> bool {
        let mut any = false;
        let mut sibling = self.cpus[cpu].beside;
        while sibling != cpu {
            if self.skips.cpus[sibling].is_some() {
                self.rouse(|c, skip| (c == sibling).then(|| skip.turn_at(time)));
                any = true;
            }
            sibling = self.cpus[sibling].beside;
        }
        any
    }

    /// Accounts are about to be made at `time`: all skips are to end.
    pub fn rouse_all(&mut self, time: Ticks) {
        let running = self.cpu;
        self.rouse(|cpu, skip| Some(skip.turn_with(0, cpu, running, time)));
    }

    /// Of the CPUs that skip, those for which `when` gives a time go on then, if not sooner. Until then they may be roused
    /// sooner still, by a CPU that is behind the one that rouses them now.
    fn rouse(&mut self, when: impl Fn(usize, &Skip) -> Option<Ticks>) {
        let SpinSkips { cpus, roused, .. } = &mut self.skips;
        roused.clear();
        for (cpu, (slot, skip)) in self.cpus.iter_mut().zip(cpus).enumerate() {
            if let Some(look) = skip.and_then(|skip| when(cpu, &skip)).filter(|look| *look < slot.clock) {
                slot.clock = look;
                roused.push((cpu as u32, look));
            }
        }
        if roused.is_empty() {
            return;
        }
        self.clocks.change(|cpu| roused.binary_search_by_key(&cpu, |(cpu, _)| *cpu).ok().map(|at| roused[at].1));
    }
}

#[cfg(test)]
mod tests;
