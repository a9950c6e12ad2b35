// SPDX-License-Identifier: MIT OR Apache-2.0
//! All orders of a test's operations and of its stores' commits, one run for each. Stores commit by hand
//! ([`Options::by_hand`]), and before a fence or a locked operation of their CPU.
//!
//! An await is one operation, the load that finds the value: it comes once that is visible to its CPU. The loads before it, of
//! which there may be any number, store nothing and find what any other load would.
use super::Lab;
use super::program::{Bytes, Litmus, Op, Outcome};
use corefold_sim::{Memory, Options};
use std::collections::BTreeSet;

/// Who has the variables' lines at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Untouched,
    /// All CPUs.
    Shared,
    /// This CPU has them alone and has modified them.
    Owned(usize),
    /// The same, but others have had them before.
    Held(usize),
}

/// Cycles until all CPUs have had a line.
const SHARED: u32 = 3_000;

impl Start {
    /// What `cpu` does at first.
    pub fn ops(self, cpu: usize, test: &Litmus) -> Vec<Op> {
        let places = test.variables.iter().map(|address| Bytes::word(*address));
        match self {
            Start::Shared => places.map(Op::AtomicLoad).collect(),
            Start::Held(owner) => {
                let load = places.clone().map(Op::AtomicLoad).chain([Op::Compute(SHARED)]);
                load.chain(places.filter(|_| owner == cpu).map(|place| Op::AtomicStore(place, 0))).collect()
            }
            Start::Owned(owner) if owner == cpu => places.map(|place| Op::Store(place, 0)).collect(),
            _ => vec![],
        }
    }
}

#[derive(Clone, Copy)]
enum Step {
    Run(usize),
    Commit(u32),
}

/// One run.
struct Walk<'a> {
    test: &'a Litmus,
    lab: Lab,
    /// Operations and results of each CPU at the start.
    first: Vec<(usize, usize)>,
}

/// The outcomes of all orders.
pub fn walk(test: &Litmus, start: Start) -> BTreeSet<Outcome> {
    let (mut outcomes, mut prefix) = (BTreeSet::new(), Some(vec![]));
    while let Some(choices) = prefix {
        let mut walk = Walk::new(test, start);
        let taken = walk.follow(&choices);
        outcomes.insert(walk.outcome());
        prefix = after(taken);
    }
    outcomes
}

/// The next order: the last choice that was not the last of its kind is the next of its kind.
fn after(mut taken: Vec<(usize, usize)>) -> Option<Vec<usize>> {
    while taken.pop_if(|(choice, of)| *choice + 1 == *of).is_some() {}
    taken.last_mut()?.0 += 1;
    Some(taken.into_iter().map(|(choice, _)| choice).collect())
}

impl Walk<'_> {
    fn new(test: &Litmus, start: Start) -> Walk<'_> {
        let at_first: Vec<Vec<Op>> = (0..test.cpus.len()).map(|cpu| start.ops(cpu, test)).collect();
        let lists: Vec<Vec<Op>> =
            at_first.iter().zip(&test.cpus).map(|(first, rest)| [&first[..], rest].concat()).collect();
        let mut lab = Lab::new(Options { by_hand: true, ..Options::new(lists.len() as u32) }, &lists);
        lab.use_leases(false);
        let mut walk = Walk { test, lab, first: vec![] };
        for (cpu, ops) in at_first.iter().enumerate() {
            ops.iter().for_each(|_| walk.step(Step::Run(cpu)));
            walk.first.push((ops.len(), walk.lab.results.found[cpu].len()));
        }
        walk
    }

    /// Takes these choices, and then the first ones. Returns all that were taken, each with how many there were.
    fn follow(&mut self, choices: &[usize]) -> Vec<(usize, usize)> {
        let mut taken = vec![];
        loop {
            let steps = self.steps();
            if steps.is_empty() {
                return taken;
            }
            let choice = choices.get(taken.len()).copied().unwrap_or(0);
            taken.push((choice, steps.len()));
            self.step(steps[choice]);
        }
    }

    fn steps(&mut self) -> Vec<Step> {
        let cpus = 0..self.test.cpus.len();
        let commits = cpus.clone().filter(|cpu| self.waits(*cpu)).map(|cpu| Step::Commit(cpu as u32));
        let commits: Vec<Step> = commits.collect();
        cpus.filter(|cpu| self.runs(*cpu)).map(Step::Run).chain(commits).collect()
    }

    /// Has the CPU stored what has not committed?
    fn waits(&self, cpu: usize) -> bool {
        self.lab.sim.stores.any_of(cpu as u32)
    }

    /// The CPU's next operation, unless it has done all.
    fn next(&self, cpu: usize) -> Option<Op> {
        let at = self.lab.results.times[cpu].len() - self.first[cpu].0;
        self.test.cpus[cpu].get(at).copied()
    }

    fn runs(&mut self, cpu: usize) -> bool {
        self.next(cpu).is_some_and(|op| match op {
            Op::Await(place, value, _) => self.sees(cpu, place) == value,
            _ => !self.waits(cpu) || !(op.is_locked() || op == Op::Fence),
        })
    }

    /// What the CPU would load, without an event.
    fn sees(&mut self, cpu: usize, place: Bytes) -> u64 {
        let Lab { sim, world, .. } = &mut self.lab;
        sim.stores.change_view(world, cpu as u32);
        let value = world.read(place.address, place.size);
        sim.stores.change_view(world, sim.cpu as u32);
        value
    }

    fn step(&mut self, step: Step) {
        let lab = &mut self.lab;
        match step {
            Step::Run(cpu) => {
                let clock = lab.lease.clock.get();
                lab.sim.switch(&lab.lease, &mut lab.world, cpu, clock);
                assert!(lab.go_on(cpu), "nobody is behind");
            }
            Step::Commit(cpu) => lab.sim.stores.commit_first_of(&mut lab.world, cpu, lab.sim.cpu as u32),
        }
    }

    fn outcome(&self) -> Outcome {
        assert!((0..self.test.cpus.len()).all(|cpu| self.next(cpu).is_none()), "it waits for ever");
        let found = self.lab.results.found.iter().zip(&self.first).map(|(found, (_, first))| found[*first..].to_vec());
        Outcome { found: found.collect(), memory: self.lab.read(&self.test.variables) }
    }
}
