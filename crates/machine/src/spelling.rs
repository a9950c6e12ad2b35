// SPDX-License-Identifier: MIT OR Apache-2.0
//! "Did you mean …?"

/// The candidate that takes fewest edits to reach from `word`, if that is few enough to be a slip.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = word.chars().count() / 3 + 1;
    candidates.map(|c| (edits(word, c), c)).filter(|&(n, _)| n <= most).min().map(|(_, c)| c)
}

/// Levenshtein distance, in characters.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, n) in [("", "", 0), ("", "abc", 3), ("smt", "smt", 0), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!(edits(a, b), n, "{a} to {b}");
        }
    }

    #[test]
    fn only_a_slip_is_suggested() {
        let keys = ["latency.smt", "latency.memory"];
        assert_eq!(nearest("latency.memry", keys.into_iter()), Some("latency.memory"));
        assert_eq!(nearest("colour", keys.into_iter()), None);
    }
}
