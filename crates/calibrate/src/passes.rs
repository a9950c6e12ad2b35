// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes over the same measurements: what disturbs one, as a neighbour on the same core, may be gone in another. So
//! there are several, and where the hypervisor took the CPUs away, more: the least disturbed count, whatever they say.
//! The others count too where what disturbs only adds.
use anyhow::Result;

/// Passes that count.
pub const PASSES: usize = 4;

/// Of the time of all CPUs, what the hypervisor may have taken in a pass that counts without another try.
pub const MOST_STOLEN: f64 = 0.02;

/// Passes taken, and what they say.
pub struct Passes<T> {
    /// The least disturbed, in the order in which they were taken.
    pub kept: Vec<T>,
    pub disturbed: Vec<T>,
    /// What was stolen in the worst of these, as a share.
    pub stolen: f64,
    pub taken: usize,
}

/// Takes passes until enough of them are undisturbed, at most so many; `pass` gets its number, from 1.
pub fn take<T>(most: usize, pass: impl FnMut(usize) -> Result<T>) -> Result<Passes<T>> {
    take_by(most, now, pass)
}

fn take_by<T>(most: usize, clock: impl Fn() -> Ticks, mut pass: impl FnMut(usize) -> Result<T>) -> Result<Passes<T>> {
    let mut all: Vec<(f64, usize, T)> = Vec::new();
    while all.len() < most && all.iter().filter(|(stolen, ..)| *stolen <= MOST_STOLEN).count() < PASSES {
        let (number, before) = (all.len() + 1, clock());
        let result = pass(number)?;
        all.push((clock().stolen_since(before), number, result));
    }
    let taken = all.len();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let disturbed = all.split_off(PASSES.min(taken)).into_iter().map(|(.., result)| result).collect();
    let stolen = all.last().map_or(0.0, |(stolen, ..)| *stolen);
    all.sort_by_key(|(_, number, _)| *number);
    Ok(Passes { kept: all.into_iter().map(|(.., result)| result).collect(), disturbed, stolen, taken })
}

/// Of all CPUs since the host started: ticks that the hypervisor took, and all.
#[derive(Clone, Copy)]
struct Ticks {
    stolen: u64,
    all: u64,
}

impl Ticks {
    fn stolen_since(self, before: Ticks) -> f64 {
        self.stolen.saturating_sub(before.stolen) as f64 / self.all.saturating_sub(before.all).max(1) as f64
    }
}

fn now() -> Ticks {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    Ticks { stolen: ticks.get(7).copied().unwrap_or(0), all: ticks.iter().take(8).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Passes of which each loses so many of its hundred ticks: which were kept, the worst share, how many were taken.
    fn taken(most: usize, lost: &[u64]) -> (Vec<usize>, f64, usize) {
        let at = Cell::new(Ticks { stolen: 0, all: 0 });
        let pass = |number: usize| {
            let Ticks { stolen, all } = at.get();
            at.set(Ticks { stolen: stolen + lost[number - 1], all: all + 100 });
            Ok(number)
        };
        let passes = take_by(most, || at.get(), pass).unwrap();
        assert_eq!(passes.kept.len() + passes.disturbed.len(), passes.taken);
        (passes.kept, passes.stolen, passes.taken)
    }

    #[test]
    fn the_least_disturbed_passes_count() {
        assert_eq!(taken(8, &[0, 1, 2, 0]), (vec![1, 2, 3, 4], 0.02, 4));
        assert_eq!(taken(8, &[0, 9, 1, 30, 0, 2]), (vec![1, 3, 5, 6], 0.02, 6));
        assert_eq!(taken(6, &[9, 8, 7, 6, 5, 4]), (vec![3, 4, 5, 6], 0.07, 6));
    }
}
