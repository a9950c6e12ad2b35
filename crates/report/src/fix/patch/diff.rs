// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes of a file's lines, as a unified diff.
use std::collections::BTreeMap;

/// What becomes of a line: lines before it, and itself; empty: it goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    pub before: Option<String>,
    pub instead: Option<String>,
}

/// Unchanged lines around changes.
const CONTEXT: usize = 3;

/// The diff of `lines`, each of which has its end. Changes are by the number of the line, from 0; text after the last line is
/// before the one that follows it.
pub fn diff(name: &str, lines: &[String], changes: &BTreeMap<usize, Change>) -> String {
    let mut out = format!("--- a/{name}\n+++ b/{name}\n");
    let mut numbers = changes.keys().copied().peekable();
    let mut more = 0;
    while let Some(first) = numbers.next() {
        let mut last = first;
        while let Some(next) = numbers.next_if(|next| *next <= last + 2 * CONTEXT) {
            last = next;
        }
        let (begin, end) = (first.saturating_sub(CONTEXT), (last + CONTEXT + 1).min(lines.len()));
        let mut hunk = String::new();
        let mut new = 0;
        for number in begin..end.max(last + 1) {
            let change = changes.get(&number).cloned().unwrap_or_default();
            for text in change.before.iter().flat_map(|text| text.split_inclusive('\n')) {
                push(&mut hunk, '+', text);
                new += 1;
            }
            match (lines.get(number), change.instead) {
                (Some(line), Some(text)) => {
                    push(&mut hunk, '-', line);
                    text.split_inclusive('\n').for_each(|text| push(&mut hunk, '+', text));
                    new += text.split_inclusive('\n').count();
                }
                (Some(line), None) => {
                    push(&mut hunk, ' ', line);
                    new += 1;
                }
                (None, _) => {}
            }
        }
        let old = end - begin;
        out += &format!("@@ -{},{old} +{},{new} @@\n{hunk}", begin + 1, (begin + 1).saturating_add_signed(more));
        more += new as isize - old as isize;
    }
    out
}

fn push(hunk: &mut String, sign: char, line: &str) {
    hunk.push(sign);
    hunk.push_str(line);
    if !line.ends_with('\n') {
        hunk.push_str("\n\\ No newline at end of file\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, changes: &[(usize, Option<&str>, Option<&str>)]) -> String {
        let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let change = |&(number, before, instead): &(usize, Option<&str>, Option<&str>)| {
            (number, Change { before: before.map(str::to_owned), instead: instead.map(str::to_owned) })
        };
        diff("a.c", &lines, &changes.iter().map(change).collect())
    }

    #[test]
    fn changes_have_three_lines_around_them() {
        let text: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let changes = [(4, Some("x\n"), Some("y\n"))];
        assert_eq!(of(&text, &changes), "--- a/a.c\n+++ b/a.c\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n+x\n-5\n+y\n 6\n 7\n 8\n");
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let text: String = (1..=30).map(|n| format!("{n}\n")).collect();
        let out = of(&text, &[(0, Some("x\n"), None), (25, None, Some("y\n"))]);
        assert!(out.contains("@@ -1,4 +1,5 @@\n+x\n 1\n"), "{out}");
        assert!(out.contains("@@ -23,7 +24,7 @@\n 23\n 24\n 25\n-26\n+y\n 27\n"), "{out}");
    }

    #[test]
    fn a_line_may_go_elsewhere() {
        let text: String = (1..=30).map(|n| format!("{n}\n")).collect();
        let out = of(&text, &[(1, None, Some("")), (5, Some("2\nx\n"), None), (25, None, Some("y\n"))]);
        assert!(out.contains("@@ -1,9 +1,10 @@\n 1\n-2\n 3\n 4\n 5\n+2\n+x\n 6\n"), "{out}");
        assert!(out.contains("@@ -23,7 +24,7 @@"), "{out}");
    }

    #[test]
    fn the_last_line_may_have_no_end() {
        let out = of("1\n2", &[(1, None, Some("y"))]);
        assert!(out.ends_with(" 1\n-2\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"), "{out}");
    }
}
