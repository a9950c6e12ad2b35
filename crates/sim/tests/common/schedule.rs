// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests by the clocks: delays between operations, places of the CPUs, slack, seeds, and a CPU that reads beside them, all
//! at random.
use super::program::{Litmus, Op, Outcome};
use super::walker::Start;
use super::{Bytes, Lab};
use corefold_model::Ticks;
use corefold_sim::Options;
use corefold_sim::random::Stream;

/// CPUs of the machine.
const CPUS: usize = 8;
/// Cycles until lines are where the start has them.
const SETTLED: u32 = 5_000;
const SLACK: u32 = 1_000;

/// An operation that was done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    pub cpu: usize,
    pub op: Op,
    /// When the operation before it was over.
    pub begin: Ticks,
    pub end: Ticks,
    /// It asked for a line, which may arrive after it is over.
    pub asked: bool,
    pub found: Option<u64>,
}

pub struct Schedule {
    lists: Vec<Vec<Op>>,
    options: Options,
    /// The CPU of the simulated machine for each of the test.
    places: Vec<usize>,
}

impl Schedule {
    pub fn new(test: &Litmus, start: Start, number: u64) -> Schedule {
        let mut random = Stream::new(number, 0);
        let mut places: Vec<usize> = (0..CPUS).collect();
        (1..CPUS).for_each(|at| places.swap(at, random.between(0, at as u64) as usize));
        let longest = 3 * random.between(1, 9);
        let mut pause = move || Op::Compute((1 << (random.between(0, longest) / 3)) * random.between(0, 3) as u32);
        let mut lists = vec![vec![]; CPUS];
        for (cpu, ops) in test.cpus.iter().enumerate() {
            lists[places[cpu]] = [start.ops(cpu, test), vec![Op::Compute(SETTLED)]].concat();
            lists[places[cpu]].extend(ops.iter().flat_map(|op| [pause(), *op]));
        }
        let reads = test.variables.iter().cycle().take(6).map(|address| Op::AtomicLoad(Bytes::word(*address)));
        let beside = reads.flat_map(|read| [pause(), read]);
        if number % 2 == 1 {
            lists[places[test.cpus.len()]] = [Op::Compute(SETTLED)].into_iter().chain(beside).collect();
        }
        let slack = if number % 4 < 2 { SLACK } else { 0 };
        let seed = if number.is_multiple_of(3) { number + 1 } else { 0 };
        places.truncate(test.cpus.len());
        Schedule { lists, options: Options { slack, seed, ..Options::new(CPUS as u32) }, places }
    }

    /// Spins are skipped after so many looks; 0: never.
    pub fn run(&self, test: &Litmus, skips_after: u32) -> (Outcome, Vec<Done>) {
        let mut lab = Lab::new(self.options, &self.lists);
        lab.use_leases(false);
        lab.skips_after = skips_after;
        while lab.step() {}
        let done: Vec<Done> =
            self.places.iter().enumerate().flat_map(|(cpu, place)| self.done(&lab, cpu, *place)).collect();
        let found = |cpu: usize| done.iter().filter(|done| done.cpu == cpu).filter_map(|done| done.found).collect();
        (Outcome { found: (0..test.cpus.len()).map(found).collect(), memory: lab.read(&test.variables) }, done)
    }

    /// What a CPU of the test did, from [`SETTLED`] on.
    fn done(&self, lab: &Lab, cpu: usize, place: usize) -> Vec<Done> {
        let (mut found, mut done, mut begin) = (lab.results.found[place].iter(), vec![], None);
        for ((op, end), asked) in self.lists[place].iter().zip(&lab.results.times[place]).zip(&lab.asked[place]) {
            let found = op.has_result().then(|| *found.next().expect("a result"));
            match (op, begin) {
                (Op::Compute(SETTLED), _) => begin = Some(*end),
                (Op::Compute(_), _) | (_, None) => {}
                (_, Some(before)) => {
                    done.push(Done { cpu, op: *op, begin: before, end: *end, asked: *asked, found });
                    begin = Some(*end);
                }
            }
        }
        done
    }
}
