// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is promised; a miss is called one.
use crate::results::{Group, Results};
use std::collections::BTreeSet;

const NATIVE_MEDIAN: f64 = 0.10;
const NATIVE_WORST: f64 = 0.35;
const PUBLISHED_MEDIAN: f64 = 0.20;
const PUBLISHED_FACTOR: f64 = 2.0;
pub const RANKS: f64 = 0.95;
/// The share of the culprits.
pub const NAMED: f64 = 38.0 / 40.0;

pub fn median_is_reached(group: &Group) -> bool {
    let most = if group.is_native() { NATIVE_MEDIAN } else { PUBLISHED_MEDIAN };
    group.median_error().is_some_and(|median| median <= most)
}

pub fn worst_is_reached(group: &Group) -> bool {
    match group.is_native() {
        true => group.worst_error().is_none_or(|error| error <= NATIVE_WORST),
        false => group.worst_factor().is_none_or(|factor| factor <= PUBLISHED_FACTOR),
    }
}

/// All that is reached, by name: what was once must not be missed again.
pub fn reached(results: &Results) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    for group in results.native.iter().chain(&results.published).filter(|group| group.count() > 0) {
        for (bound, holds) in [("median error", median_is_reached(group)), ("worst error", worst_is_reached(group))] {
            // Another host's figures say nothing of this one's.
            let host = if group.is_native() { &results.host } else { "" };
            reached.extend(holds.then(|| format!("{bound} of {}, {} {host}", group.machine, group.title)));
        }
    }
    for score in &results.culprits {
        reached.extend(score.is_named().then(|| format!("the headline names {}", score.name)));
        reached.extend((!score.twin_is_accused()).then(|| format!("the twin of {} is not accused", score.name)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::culprits::{Score, Verdict};

    fn results(missing: &[&str], accused: Option<&str>) -> Results {
        let missing = missing.iter().map(|text| text.to_string()).collect();
        let verdict = Verdict { cpus: 8, missing, headline: String::new(), accused: accused.map(String::from) };
        let [what, source] = [String::new(), String::new()];
        let score = Score { name: "a".into(), what, source, public: false, at: vec![verdict] };
        Results { culprits: vec![score], ..Results::default() }
    }

    #[test]
    fn a_culprit_and_its_twin_are_bounds_of_their_own() {
        assert_eq!(reached(&results(&[], None)).len(), 2);
        assert_eq!(Vec::from_iter(reached(&results(&["x"], None))), ["the twin of a is not accused"]);
        assert_eq!(Vec::from_iter(reached(&results(&[], Some("x")))), ["the headline names a"]);
    }
}
