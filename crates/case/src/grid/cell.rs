// SPDX-License-Identifier: MIT OR Apache-2.0
//! One cell of the grid: how fast each kind of counter is under one load.

pub const LOADS: [&str; 4] = ["add", "compare", "sums", "reserve"];
pub const KINDS: [&str; 5] = ["global", "percpu", "limit", "tree", "adaptive"];
pub const ADAPTIVE: usize = 4;

/// A kind that takes so many times as long as the adaptive one is cut off: it has lost.
pub const CUT_OFF: f64 = 4.0;

pub struct Cell {
    pub cpus: u32,
    pub headroom: i64,
    pub load: String,
    /// Operations a second, by kind; none: cut off.
    pub rates: [Option<f64>; KINDS.len()],
}

impl Cell {
    fn best(&self) -> f64 {
        self.rates.iter().flatten().copied().fold(0.0, f64::max)
    }

    /// How many times the best one's rate is this one's.
    pub fn loses(&self, kind: usize) -> f64 {
        self.rates[kind].map_or(f64::INFINITY, |rate| self.best() / rate)
    }

    /// The adaptive counter's rate over the best of the others.
    pub fn adaptive(&self) -> f64 {
        let others = self.rates[..ADAPTIVE].iter().flatten().copied().fold(0.0, f64::max);
        self.rates[ADAPTIVE].unwrap_or(0.0) / others
    }
}
