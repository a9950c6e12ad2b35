// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: what each CPU does, and the text of a litmus test.
//!
//! ```text
//! # A comment.
//! cpu: store x 1; load y
//! cpu: store y 1; load x
//! allowed: 0 0
//! ```
//!
//! Each `cpu` line is a CPU's operations: `store PLACE VALUE`, `load PLACE`, `xchg PLACE VALUE` and `xadd PLACE VALUE`
//! (locked), `fence`, and `await PLACE VALUE` (loads until it finds the value). A place is a variable of eight bytes, or some of
//! its bytes: `x[4..6]`. All memory is 0 at first. An outcome, `allowed` or `forbidden`, is all results in the order of the
//! CPUs (of `load`, `xchg`, `xadd` and `await`) and then any final values, `x=1`.
use std::collections::BTreeMap;

/// Some bytes of memory, not more than eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    pub address: u64,
    pub size: u8,
}

impl Bytes {
    pub const fn word(address: u64) -> Bytes {
        Bytes { address, size: 8 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Cycles of computation.
    Compute(u32),
    /// The value that is found is a result.
    Load(Bytes),
    AtomicLoad(Bytes),
    Store(Bytes, u64),
    AtomicStore(Bytes, u64),
    /// A locked exchange; its old value is a result.
    Exchange(Bytes, u64),
    /// A locked addition; its old value is a result.
    Add(Bytes, u64),
    Fence,
    /// An atomic load, again and again, each with so many cycles of computation, until it finds this.
    Await(Bytes, u64, u32),
}

impl Op {
    /// The same at another place.
    pub fn at(self, place: impl Fn(Bytes) -> Bytes) -> Op {
        match self {
            Op::Compute(_) | Op::Fence => self,
            Op::Load(old) => Op::Load(place(old)),
            Op::AtomicLoad(old) => Op::AtomicLoad(place(old)),
            Op::Store(old, value) => Op::Store(place(old), value),
            Op::AtomicStore(old, value) => Op::AtomicStore(place(old), value),
            Op::Exchange(old, value) => Op::Exchange(place(old), value),
            Op::Add(old, value) => Op::Add(place(old), value),
            Op::Await(old, value, cycles) => Op::Await(place(old), value, cycles),
        }
    }

    pub fn has_result(self) -> bool {
        !matches!(self, Op::Compute(_) | Op::Store(..) | Op::AtomicStore(..) | Op::Fence)
    }

    pub fn is_locked(self) -> bool {
        matches!(self, Op::Exchange(..) | Op::Add(..))
    }
}

/// All results, by CPU, and the final values of the variables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome {
    pub found: Vec<Vec<u64>>,
    pub memory: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct Litmus {
    pub name: String,
    /// By CPU; loads and stores are atomic.
    pub cpus: Vec<Vec<Op>>,
    /// Eight bytes each, on lines of their own.
    pub variables: Vec<u64>,
    pub allowed: Vec<Pattern>,
    pub forbidden: Vec<Pattern>,
}

/// Results of all CPUs, and some of memory.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub text: String,
    found: Vec<u64>,
    memory: Vec<(usize, u64)>,
}

impl Pattern {
    pub fn matches(&self, outcome: &Outcome) -> bool {
        outcome.found.concat() == self.found && self.memory.iter().all(|(at, value)| outcome.memory[*at] == *value)
    }
}

const PERIOD: u32 = 10;
/// Between variables: a line for each, and a page.
const LINE: u64 = 0x1000;

impl Litmus {
    pub fn parse(name: &str, text: &str) -> Litmus {
        let mut names = Variables::default();
        let mut test =
            Litmus { name: name.into(), cpus: vec![], variables: vec![], allowed: vec![], forbidden: vec![] };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split_once(": ").unwrap_or_else(|| panic!("{name}: {line}")) {
                ("cpu", ops) => test.cpus.push(ops.split(';').map(|op| names.op(op)).collect()),
                ("allowed", outcome) => test.allowed.push(names.pattern(outcome)),
                ("forbidden", outcome) => test.forbidden.push(names.pattern(outcome)),
                _ => panic!("{name}: {line}"),
            }
        }
        assert!(!test.allowed.is_empty() || !test.forbidden.is_empty(), "{name} states no outcome");
        let results = test.cpus.iter().flatten().filter(|op| op.has_result()).count();
        let complete = |outcome: &Pattern| outcome.found.len() == results;
        assert!(test.allowed.iter().chain(&test.forbidden).all(complete), "{name}: an outcome has {results} results");
        test.variables = (0..names.0.len() as u64).map(address).collect();
        test
    }

    /// The same with the `plain` ones of each CPU's loads and stores plain (a bit for each operation), and all variables on one
    /// line, if they are to be `together`.
    pub fn variant(&self, plain: u32, together: bool) -> Litmus {
        let moved = |address: u64| if together { LINE + address / LINE * 8 + address % LINE } else { address };
        let place = |old: Bytes| Bytes { address: moved(old.address), ..old };
        let op = |(at, op): (usize, &Op)| match (*op, plain >> at & 1 != 0) {
            (Op::AtomicLoad(at), true) => Op::Load(place(at)),
            (Op::AtomicStore(at, value), true) => Op::Store(place(at), value),
            (op, _) => op.at(place),
        };
        let cpus = self.cpus.iter().map(|ops| ops.iter().enumerate().map(op).collect()).collect();
        let variables = self.variables.iter().map(|address| moved(*address)).collect();
        Litmus { cpus, variables, ..self.clone() }
    }
}

fn address(variable: u64) -> u64 {
    (variable + 1) * LINE
}

/// Numbers by name, in the order of their first use.
#[derive(Default)]
struct Variables(BTreeMap<String, usize>);

impl Variables {
    fn number(&mut self, name: &str) -> usize {
        let new = self.0.len();
        *self.0.entry(name.into()).or_insert(new)
    }

    fn place(&mut self, text: &str) -> Bytes {
        let (name, bytes) = text.split_once('[').unwrap_or((text, "0..8]"));
        let (from, to) = bytes.strip_suffix(']').and_then(|bytes| bytes.split_once("..")).expect("x[0..8]");
        let (from, to): (u64, u64) = (number(from), number(to));
        assert!(from < to && to <= 8, "{text}");
        Bytes { address: address(self.number(name) as u64) + from, size: (to - from) as u8 }
    }

    fn op(&mut self, text: &str) -> Op {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["load", place] => Op::AtomicLoad(self.place(place)),
            ["store", place, value] => Op::AtomicStore(self.place(place), number(value)),
            ["xchg", place, value] => Op::Exchange(self.place(place), number(value)),
            ["xadd", place, value] => Op::Add(self.place(place), number(value)),
            ["await", place, value] => Op::Await(self.place(place), number(value), PERIOD),
            ["fence"] => Op::Fence,
            _ => panic!("no such operation: {text}"),
        }
    }

    fn pattern(&mut self, text: &str) -> Pattern {
        let (memory, found): (Vec<&str>, Vec<&str>) = text.split_whitespace().partition(|word| word.contains('='));
        let memory = memory.iter().filter_map(|word| word.split_once('='));
        Pattern {
            text: text.into(),
            found: found.into_iter().map(number).collect(),
            memory: memory.map(|(name, value)| (self.number(name), number(value))).collect(),
        }
    }
}

fn number(text: &str) -> u64 {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("no number: {text}"))
}
