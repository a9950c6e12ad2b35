// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spins, and the CPUs that skip theirs.
use alloc::vec;
use alloc::vec::Vec;
use corefold_model::Ticks;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

/// The most places of a loop that are tracked separately.
pub const LOOKS: usize = 8;

/// A line that each turn of a spin reads, so long after the turn's first read. No line: 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    pub line: u64,
    pub after: Ticks,
}

/// A loop whose every iteration is like the last, as far as its thread goes: its first read was just made.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    /// Between two reads from the same place, one iteration apart.
    pub period: Ticks,
    /// Of the words that it waits for.
    pub lines: [Watched; LOOKS],
    /// Lines that it reads beside them.
    pub read: [Watched; LOOKS],
}

/// A CPU that skips its spin: it last read the word at `since`, and would again every period.
#[derive(Clone, Copy)]
pub(crate) struct Skip {
    pub since: Ticks,
    pub spin: Spin,
    /// One of the lines that it only reads was requested: its turns may be others from then on.
    pub disturbed: bool,
}

/// A skip that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// How long it was.
    pub time: Ticks,
    /// The loop may behave differently from now on.
    pub disturbed: bool,
}

/// The CPUs that skip. Such a CPU's clock is that of its next read.
pub struct SpinSkips {
    pub(crate) cpus: Vec<Option<Skip>>,
    /// Lines that skipping CPUs watch, and how many CPUs watch each.
    pub(crate) watched: HashMap<u64, u32, FxBuildHasher>,
    /// Those that a request rouses, kept so that an event allocates nothing.
    pub(crate) roused: Vec<(u32, Ticks)>,
}

impl SpinSkips {
    pub(crate) fn new(cpus: u32) -> Self {
        let roused = Vec::with_capacity(cpus as usize);
        SpinSkips { cpus: vec![None; cpus as usize], watched: HashMap::default(), roused }
    }

    /// When the CPU last read the word, if it skips.
    pub fn since(&self, cpu: usize) -> Option<Ticks> {
        self.cpus[cpu].map(|skip| skip.since)
    }

    pub(crate) fn begin(&mut self, cpu: usize, skip: Skip) {
        self.cpus[cpu] = Some(skip);
        skip.spin.watches().for_each(|watched| *self.watched.entry(watched.line).or_default() += 1);
    }

    pub(crate) fn end(&mut self, cpu: usize) -> Option<Skip> {
        let skip = self.cpus[cpu].take()?;
        for watched in skip.spin.watches() {
            if let Entry::Occupied(mut count) = self.watched.entry(watched.line) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        Some(skip)
    }
}

impl Spin {
    pub(crate) fn watches(&self) -> impl Iterator<Item = Watched> {
        self.lines.into_iter().chain(self.read).filter(|watched| watched.line != 0)
    }
}

impl Skip {
    /// The turn that makes the first read of `cpu`, `after` its begin, which is not over at `time`. Of CPUs with equal
    /// clocks the one with the smaller number goes first: if the running CPU has a greater one, a read at `time` is over.
    pub fn turn_with(&self, after: Ticks, cpu: usize, running: usize, time: Ticks) -> Ticks {
        let over = if cpu < running { time + 1 } else { time };
        let turns = over.saturating_sub(self.since + after).div_ceil(self.spin.period);
        self.since + turns.max(u64::from(after == 0)) * self.spin.period
    }

    /// The turn that something changes in the midst of.
    pub fn turn_at(&self, time: Ticks) -> Ticks {
        self.since + time.saturating_sub(self.since) / self.spin.period * self.spin.period
    }
}
