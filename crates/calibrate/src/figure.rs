// SPDX-License-Identifier: MIT OR Apache-2.0
//! A figure and how sure it is: many rounds, of which quantiles count.

/// Of many rounds of one measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub least: f64,
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Spread {
    pub fn of(mut rounds: Vec<f64>) -> Spread {
        rounds.sort_by(f64::total_cmp);
        let at = |share: f64| rounds[((rounds.len() - 1) as f64 * share).round() as usize];
        Spread { least: at(0.02), low: at(0.1), median: at(0.5), high: at(0.9) }
    }

    pub fn map(self, f: impl Fn(f64) -> f64) -> Spread {
        Spread { least: f(self.least), low: f(self.low), median: f(self.median), high: f(self.high) }
    }

    /// The width of the better half, as a share of the median: what disturbs only makes slower.
    pub fn noise(&self) -> f64 {
        (self.median - self.low).abs() / self.median.abs().max(f64::MIN_POSITIVE)
    }
}

/// Runs `f` so many times.
pub fn rounds(count: usize, mut f: impl FnMut() -> f64) -> Spread {
    f();
    Spread::of((0..count).map(|_| f()).collect())
}

/// One line of the profile, or of what is measured beside it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// `section.key`, or words for what no profile has.
    pub key: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// None: it was not measured.
    pub spread: Option<Spread>,
    /// How it was measured, or what it was estimated from.
    pub how: String,
    pub pick: Pick,
}

/// Which of several passes counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// A time: what disturbs only adds.
    Least,
    /// A capacity: what disturbs takes its share.
    Most,
    Middle,
}

/// The value of one of them.
pub fn value(figures: &[Figure], key: &str) -> Option<f64> {
    figures.iter().find(|f| f.key == key).map(|f| f.value)
}

/// One figure of those that several passes measured: of all of them where what disturbs only adds.
pub fn merged(passes: &[&[Figure]], disturbed: &[&[Figure]]) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for f in passes.iter().copied().flatten() {
        if all.iter().any(|known| known.key == f.key) {
            continue;
        }
        let more = if f.pick == Pick::Middle { &[] } else { disturbed };
        let of = |pass: &&'_ [Figure]| pass.iter().find(|other| other.key == f.key).cloned();
        let mut same: Vec<Figure> = passes.iter().chain(more).filter_map(of).collect();
        same.sort_by(|a, b| a.value.total_cmp(&b.value));
        let picked = match f.pick {
            Pick::Least => 0,
            Pick::Most => same.len() - 1,
            Pick::Middle => (same.len() - 1) / 2,
        };
        all.push(same.swap_remove(picked));
    }
    all
}

impl Figure {
    /// Of one CPU alone: disturbances only add, so the fast rounds count.
    pub fn alone(key: &'static str, unit: &'static str, spread: Spread, how: &str) -> Figure {
        Figure { key, value: spread.least, unit, spread: Some(spread), how: how.into(), pick: Pick::Least }
    }

    /// Of CPUs that work against each other: the usual case counts.
    pub fn usual(key: &'static str, unit: &'static str, spread: Spread, how: &str) -> Figure {
        Figure { key, value: spread.median, unit, spread: Some(spread), how: how.into(), pick: Pick::Middle }
    }

    pub fn read(key: &'static str, unit: &'static str, value: f64, how: &str) -> Figure {
        let spread = Some(Spread { least: value, low: value, median: value, high: value });
        Figure { key, value, unit, spread, how: how.into(), pick: Pick::Most }
    }

    /// Worked out from others; of several passes the middle one counts.
    pub fn derived(key: &'static str, unit: &'static str, value: f64, how: &str) -> Figure {
        Figure { pick: Pick::Middle, ..Figure::read(key, unit, value, how) }
    }

    pub fn estimated(key: &'static str, unit: &'static str, value: f64, from: &str) -> Figure {
        Figure { key, value, unit, spread: None, how: from.into(), pick: Pick::Middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_that_was_disturbed_least_counts() {
        let pass = |ns: f64, entries: f64, between: f64| {
            let s = Spread::of(vec![between]);
            let time = Figure { value: ns, ..Figure::alone("a", "ns", s, "x") };
            vec![time, Figure::read("b", "count", entries, "x"), Figure::usual("c", "ns", s, "x")]
        };
        let passes = [pass(9.0, 57.0, 80.0), pass(5.0, 112.0, 60.0), pass(7.0, 56.0, 70.0)];
        let disturbed = [pass(4.0, 110.0, 10.0), pass(6.0, 114.0, 20.0)];
        let values = |disturbed: &[&[Figure]]| -> Vec<f64> {
            merged(&passes.each_ref().map(|pass| &pass[..]), disturbed).iter().map(|f| f.value).collect()
        };
        assert_eq!(values(&[]), [5.0, 112.0, 70.0]);
        assert_eq!(values(&disturbed.each_ref().map(|pass| &pass[..])), [4.0, 114.0, 70.0]);
    }

    #[test]
    fn quantiles_are_of_the_sorted_rounds() {
        let s = Spread::of((0..=100).rev().map(f64::from).collect());
        assert_eq!((s.least, s.low, s.median, s.high), (2.0, 10.0, 50.0, 90.0));
        assert!((s.noise() - 0.8).abs() < 1e-9);
    }
}
