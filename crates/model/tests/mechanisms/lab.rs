// SPDX-License-Identifier: MIT OR Apache-2.0
//! A model, held as the engine holds it.
use crate::common::machine;
use corefold_model::{Access, Class, Kind, Machine, Model, Outcome, Tag, Ticks, ticks};
use std::collections::BTreeMap;

/// A model, and the tags that the engine would keep.
pub struct Lab {
    pub model: Model,
    pub tags: BTreeMap<u64, Tag>,
    pub clocks: Vec<Ticks>,
}

impl Lab {
    pub fn new(machine: &Machine) -> Lab {
        Lab { model: Model::new(machine, 0), tags: BTreeMap::new(), clocks: vec![0; machine.cpus() as usize] }
    }

    /// One access by a CPU, at its clock, which it moves; as the engine does.
    pub fn access(&mut self, cpu: u32, address: u64, kind: Kind) -> Outcome {
        let clock = self.clocks[cpu as usize];
        let access = Access { cpu, address, size: 8, kind, origin: 0 };
        let now = if kind == Kind::Rmw { self.model.drain(cpu, clock) } else { clock };
        let outcome = self.model.access(self.tags.entry(address / 64).or_default(), &access, now);
        if let Some(other) = self.model.pair_of(address, &outcome) {
            self.model.prefetch(self.tags.entry(other / 64).or_default(), cpu, other, now);
        }
        while let Some(evicted) = self.model.take_evicted() {
            self.model.evicted(cpu, kind, self.tags.get_mut(&(evicted / 64)).unwrap());
        }
        self.clocks[cpu as usize] = outcome.done;
        outcome
    }

    /// As [`Lab::access`]; from the request until nothing of it is under way, in cycles.
    pub fn cycles(&mut self, cpu: u32, address: u64, kind: Kind) -> u64 {
        let begun = self.clocks[cpu as usize];
        self.access(cpu, address, kind);
        let done = self.model.drain(cpu, self.clocks[cpu as usize]);
        self.clocks[cpu as usize] = done;
        (done - begun) / ticks(1)
    }

    /// All clocks to the same time, later than anything that is under way.
    pub fn rest(&mut self) {
        let latest = self.clocks.iter().max().unwrap() + ticks(100_000);
        for cpu in 0..self.clocks.len() {
            self.clocks[cpu] = latest;
            self.model.drain(cpu as u32, latest);
        }
    }

    /// CPUs add to one line without a pause; the mean cycles of an operation, as the machine sees it.
    pub fn contended(&mut self, cpus: &[u32], kind: Kind, times: u64) -> u64 {
        self.fought_for(cpus, kind, times).0
    }

    /// The same, and who was done when, with the distances that the line came.
    pub fn fought_for(&mut self, cpus: &[u32], kind: Kind, times: u64) -> (u64, Vec<(u32, Option<Class>)>) {
        let from = self.clocks[cpus[0] as usize];
        let mut waits: BTreeMap<u32, Outcome> = BTreeMap::new();
        let mut done = Vec::new();
        while done.len() < times as usize {
            let cpu = *cpus.iter().min_by_key(|c| self.clocks[**c as usize]).unwrap();
            let now = self.clocks[cpu as usize];
            let Some(outcome) = waits.remove(&cpu) else {
                let outcome = self.access(cpu, 0, kind);
                self.clocks[cpu as usize] = outcome.effect;
                waits.insert(cpu, outcome);
                continue;
            };
            if let Some(later) = self.model.postponed(self.tags[&0], cpu, now) {
                self.clocks[cpu as usize] = later;
                waits.insert(cpu, outcome);
                continue;
            }
            done.push((cpu, outcome.transfer));
            self.clocks[cpu as usize] = now + (outcome.done - outcome.effect) + ticks(1);
        }
        let to = cpus.iter().map(|c| self.clocks[*c as usize]).max().unwrap();
        ((to - from) / ticks(1) / times, done)
    }
}

pub fn lab(change: impl FnOnce(&mut Machine)) -> Lab {
    let mut machine = machine();
    change(&mut machine);
    Lab::new(&machine)
}

/// CPUs 0 to 3 are the cores of two sockets; 4 to 7 their second threads. Of CPU 0, one in its socket and one in the other:
pub const NEAR: u32 = 1;
pub const REMOTE: u32 = 2;
