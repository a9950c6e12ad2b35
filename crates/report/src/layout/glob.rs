// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns of names, as a shell has them for files: `*` and `?`.

/// Whether the whole of `name` is as the pattern says.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last `*` was, and how far the name was then taken to belong to it.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    (p, n) = (at + 1, taken + 1);
                    star = Some((at, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_take_as_much_as_it_needs() {
        for (pattern, name) in
            [("inode", "inode"), ("*", ""), ("*node*", "inode"), ("i?ode", "inode"), ("a*b*c", "abbbc")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("inode", "inodes"), ("?", ""), ("a*b", "abc"), ("", "a"), ("i?ode", "iode")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        let (pattern, name) = ("*a".repeat(30) + "b", "a".repeat(5000));
        assert!(!matches(&pattern, &name), "in time that grows with the product of both, not faster");
    }
}
