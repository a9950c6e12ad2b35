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

/// A field's name with its array indices apart.
struct Name<'a> {
    /// What stands between the indices.
    text: Vec<&'a str>,
    /// Least and greatest value of each.
    indices: Vec<(u64, u64)>,
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Name<'a> {
        let (mut text, mut indices, mut rest) = (Vec::new(), Vec::new(), name);
        let mut from = 0;
        while let Some(open) = rest[from..].find('[').map(|i| from + i + 1) {
            match rest[open..].find(']').and_then(|length| range(&rest[open..open + length]).zip(Some(open + length))) {
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
            *mine = (mine.0.min(theirs.0), mine.1.max(theirs.1));
        }
    }
}

/// `3` or `3-7`.
fn range(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (text, (least, most)) in self.text.iter().zip(&self.indices) {
            match least == most {
                true => write!(f, "{text}{least}")?,
                false => write!(f, "{text}{least}-{most}")?,
            }
        }
        f.write_str(self.text[self.indices.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_indices_become_ranges() {
        assert_eq!(one_name(&["c.slot[3].n", "c.slot[0].n", "c.slot[7].n"]), "c.slot[0-7].n");
        assert_eq!(one_name(&["a[1][2]", "a[1][5]"]), "a[1][2-5]");
        assert_eq!(one_name(&["a[1]"]), "a[1]");
        assert_eq!(one_name(&["map[key]", "x[", "+0x8", "y"]), "map[key], x[, +0x8 and 1 more");
        assert_eq!(one_name(&["lock", "count"]), "lock and count");
        assert_eq!(one_name(&["a[0-1]", "a[4]"]), "a[0-4]", "an access to two elements");
    }
}
