// SPDX-License-Identifier: MIT OR Apache-2.0
//! The abstract machine of x86-TSO (Owens, Sarkar, Sewell: A better x86 memory model, TPHOLs 2009), byte by byte: memory, a
//! FIFO store buffer for each CPU, and one lock. A load takes each byte from the youngest store of its own CPU that has it,
//! otherwise from memory. It knows no time, and shares no code with the simulator.
//!
//! A load of which a waiting store has some bytes but not all is not delayed here, as the published machine does not say.
//! Cores that wait until that store has committed have fewer outcomes; an Intel core of 2023 has these, too
//! ("forwarded part" of tests/programs/litmus/tso.c, run natively).
use super::program::{Bytes, Litmus, Op, Outcome};
use std::collections::{BTreeSet, HashSet, VecDeque};

/// Bytes of memory by address, sorted.
type Memory = std::collections::BTreeMap<u64, u8>;

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Cpu {
    /// The next operation.
    at: usize,
    found: Vec<u64>,
    /// The bytes of each waiting store, the oldest first.
    buffer: VecDeque<Vec<(u64, u8)>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Machine {
    cpus: Vec<Cpu>,
    memory: Memory,
    /// The CPU in the midst of a locked operation.
    lock: Option<usize>,
}

/// All outcomes that the machine has. Where `plain_waits` is not set, a plain store commits at once unless an older store
/// of its CPU waits.
pub fn outcomes(test: &Litmus, plain_waits: bool) -> BTreeSet<Outcome> {
    let start = Machine { cpus: vec![Cpu::default(); test.cpus.len()], memory: Memory::new(), lock: None };
    let (mut seen, mut left, mut ends) = (HashSet::from([start.clone()]), vec![start], BTreeSet::new());
    while let Some(machine) = left.pop() {
        let next = machine.next(&test.cpus, plain_waits);
        if next.is_empty() {
            assert!(machine.cpus.iter().zip(&test.cpus).all(|(cpu, ops)| cpu.at == ops.len()), "it waits for ever");
            let word = |address: &u64| from_bytes((*address..*address + 8).map(|at| machine.in_memory(at)));
            ends.insert(Outcome {
                found: machine.cpus.iter().map(|cpu| cpu.found.clone()).collect(),
                memory: test.variables.iter().map(word).collect(),
            });
        }
        left.extend(next.into_iter().filter(|machine| seen.insert(machine.clone())));
    }
    ends
}

fn from_bytes(bytes: impl DoubleEndedIterator<Item = u8>) -> u64 {
    bytes.rev().fold(0, |word, byte| word << 8 | u64::from(byte))
}

fn to_bytes(place: Bytes, value: u64) -> Vec<(u64, u8)> {
    (0..u64::from(place.size)).map(|at| (place.address + at, (value >> (8 * at)) as u8)).collect()
}

impl Machine {
    /// The machines that this one may be after one step: a CPU's next operation, or its oldest store commits.
    fn next(&self, programs: &[Vec<Op>], plain_waits: bool) -> Vec<Machine> {
        let free = |cpu: &usize| self.lock.is_none_or(|holder| holder == *cpu);
        let cpus = (0..self.cpus.len()).filter(free);
        cpus.flat_map(|cpu| {
            let operation = programs[cpu].get(self.cpus[cpu].at).and_then(|op| self.operation(cpu, *op, plain_waits));
            [operation, self.commit(cpu)].into_iter().flatten()
        })
        .collect()
    }

    fn commit(&self, cpu: usize) -> Option<Machine> {
        let mut next = self.clone();
        let store = next.cpus[cpu].buffer.pop_front()?;
        next.memory.extend(store);
        Some(next)
    }

    /// The operation's step, if it can be taken now.
    fn operation(&self, cpu: usize, op: Op, plain_waits: bool) -> Option<Machine> {
        let mut next = self.clone();
        let is_drained = self.cpus[cpu].buffer.is_empty();
        next.cpus[cpu].at += 1;
        match op {
            Op::Compute(_) => {}
            Op::Load(place) | Op::AtomicLoad(place) => next.cpus[cpu].found.push(self.load(cpu, place)),
            Op::AtomicStore(place, value) => next.cpus[cpu].buffer.push_back(to_bytes(place, value)),
            Op::Store(place, value) => {
                next.cpus[cpu].buffer.push_back(to_bytes(place, value));
                if is_drained && !plain_waits {
                    return next.commit(cpu);
                }
            }
            Op::Exchange(..) | Op::Add(..) => return self.locked(cpu, op),
            Op::Fence if !is_drained => return None,
            Op::Fence => {}
            Op::Await(place, value, _) if self.load(cpu, place) != value => return None,
            Op::Await(_, value, _) => next.cpus[cpu].found.push(value),
        }
        Some(next)
    }

    /// A locked operation takes the lock, loads and stores, and gives the lock back when its store has committed.
    fn locked(&self, cpu: usize, op: Op) -> Option<Machine> {
        let mut next = self.clone();
        if self.lock.is_none() {
            next.lock = Some(cpu);
            return self.cpus[cpu].buffer.is_empty().then_some(next);
        }
        let (place, new) = match op {
            Op::Exchange(place, value) => (place, value),
            Op::Add(place, value) => (place, self.load(cpu, place).wrapping_add(value)),
            _ => unreachable!("not a locked operation"),
        };
        next.cpus[cpu].found.push(self.load(cpu, place));
        next.cpus[cpu].buffer.push_back(to_bytes(place, new));
        next = next.commit(cpu)?;
        next.cpus[cpu].at += 1;
        next.lock = None;
        Some(next)
    }

    fn load(&self, cpu: usize, place: Bytes) -> u64 {
        let own = |address: u64| {
            let stored = self.cpus[cpu].buffer.iter().rev().flatten().find(|(at, _)| *at == address);
            stored.map(|(_, byte)| *byte)
        };
        let bytes = place.address..place.address + u64::from(place.size);
        from_bytes(bytes.map(|at| own(at).unwrap_or_else(|| self.in_memory(at))))
    }

    fn in_memory(&self, address: u64) -> u8 {
        self.memory.get(&address).copied().unwrap_or(0)
    }
}
