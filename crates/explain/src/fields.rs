// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of fields, brought together: the elements of an array are one name.

/// Names shown one by one of a list.
const SHOWN: usize = 3;

/// `c.slot[0]`, `c.slot[7]` and `c.used` as `c.slot[0-7]` and `c.used`, in the order in which they first come.
pub fn merged(names: &[&str]) -> Vec<String> {
    let mut merged: Vec<Name> = Vec::new();
    for name in names {
        let name = Name::parse(name);
        match merged.iter_mut().find(|m| m.text == name.text) {
            Some(same) => same.widen(&name),
            None => merged.push(name),
        }
    }
    merged.iter().map(Name::to_string).collect()
}

/// The same in one phrase, the first of them only if there are many: `a, b and c`; `a, b, c and 4 more`.
pub fn one_name(names: &[&str]) -> String {
    listed(&merged(names))
}

/// `a`; `a and b`; `a, b, c and 4 more`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [some @ .., last] if names.len() <= SHOWN => format!("{} and {last}", some.join(", ")),
        _ => format!("{} and {} more", names[..SHOWN].join(", "), names.len() - SHOWN),
    }
}

/// The name without the indices: what elements of one array have in common.
pub fn pattern(name: &str) -> Vec<&str> {
    Name::parse(name).text
}

/// Indices that leave gaps are told as so many ranges at most, else as one.
const SHOWN_RANGES: usize = 4;
/// Where there are more, it is not worth while to find out whether others close the gaps.
const KNOWN_RANGES: usize = 64;

/// A field's name with its array indices apart.
struct Name<'a> {
    /// What stands between the indices.
    text: Vec<&'a str>,
    /// The values of each: ranges, apart from each other and in order.
    indices: Vec<Vec<(u64, u64)>>,
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Name<'a> {
        let (mut text, mut indices, mut rest) = (Vec::new(), Vec::new(), name);
        let mut from = 0;
        while let Some(open) = rest[from..].find('[').map(|i| from + i + 1) {
            match rest[open..].find(']').and_then(|length| ranges(&rest[open..open + length]).zip(Some(open + length)))
            {
                Some((indices_here, close)) => {
                    text.push(&rest[..open]);
                    indices.push(indices_here);
                    (rest, from) = (&rest[close..], 0);
                }
                None => from = open,
            }
        }
        text.push(rest);
        Name { text, indices }
    }

    fn widen(&mut self, other: &Name) {
        for (mine, theirs) in self.indices.iter_mut().zip(&other.indices) {
            mine.extend(theirs);
            mine.sort_unstable();
            mine.dedup_by(|next, last| {
                let touches = next.0 <= last.1.saturating_add(1);
                last.1 = if touches { last.1.max(next.1) } else { last.1 };
                touches
            });
            if mine.len() > KNOWN_RANGES {
                *mine = vec![(mine[0].0, mine[mine.len() - 1].1)];
            }
        }
    }
}

/// `3`, `3-7` or `0,16,32-35`.
fn ranges(text: &str) -> Option<Vec<(u64, u64)>> {
    text.split(',').map(range).collect()
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Of several indices, not all combinations need be there.
        let most = if self.indices.len() == 1 { SHOWN_RANGES } else { 1 };
        for (text, ranges) in self.text.iter().zip(&self.indices) {
            let whole = [(ranges[0].0, ranges[ranges.len() - 1].1)];
            let shown = if ranges.len() > most { &whole[..] } else { ranges };
            let shown = shown.iter().map(|(least, most)| match least == most {
                true => least.to_string(),
                false => format!("{least}-{most}"),
            });
            write!(f, "{text}{}", shown.collect::<Vec<_>>().join(","))?;
        }
        f.write_str(self.text[self.indices.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_indices_become_ranges() {
        assert_eq!(one_name(&["c.slot[3].n", "c.slot[0].n", "c.slot[7].n"]), "c.slot[0,3,7].n");
        assert_eq!(one_name(&["a[3]", "a[0]", "a[1]", "a[2]", "a[16]"]), "a[0-3,16]");
        assert_eq!(one_name(&["a[0]", "a[2]", "a[4]", "a[6]", "a[8]"]), "a[0-8]");
        assert_eq!(one_name(&["a[0,16]", "a[1]"]), "a[0-1,16]");
        assert_eq!(one_name(&["a[1][2]", "a[4][5]"]), "a[1-4][2-5]");
        assert_eq!(one_name(&["a[1][2]", "a[1][5]"]), "a[1][2-5]");
        assert_eq!(one_name(&["a[1]"]), "a[1]");
        assert_eq!(one_name(&["map[key]", "x[", "+0x8", "y"]), "map[key], x[, +0x8 and 1 more");
        assert_eq!(one_name(&["lock", "count"]), "lock and count");
        assert_eq!(one_name(&["a[0-1]", "a[4]"]), "a[0-1,4]", "an access to two elements");
    }
}
