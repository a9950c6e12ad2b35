// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths of the own crate in a source file: what follows `crate::`, `super::` and the name of a file below its own, groups in
//! braces resolved.

/// A file's text, read from left to right.
pub struct Imports<'a> {
    rest: &'a str,
    found: Vec<Vec<String>>,
}

impl Imports<'_> {
    /// All paths in `text`, the text of `module` (`hooks/spin`) with these files below it, from the crate's root.
    pub fn of(text: &str, module: &str, below: &[&str]) -> Vec<Vec<String>> {
        let code: String =
            text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
        let mut found = Vec::new();
        let of_root = [("crate::".to_owned(), None), ("super::".to_owned(), Some(1))];
        let words = of_root.into_iter().chain(below.iter().map(|name| (format!("{name}::"), Some(0))));
        for (word, levels) in words {
            for (at, _) in code.match_indices(&word) {
                let before = code[..at].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c)) {
                    continue;
                }
                let parts: Vec<String> = module.split('/').map(str::to_owned).collect();
                let base = levels.map_or(Vec::new(), |levels| parts[..parts.len() - levels].to_vec());
                let path_begins = if levels == Some(0) { at } else { at + word.len() };
                let mut reader = Imports { rest: &code[path_begins..], found: Vec::new() };
                reader.tree(&base);
                found.extend(reader.found);
            }
        }
        found
    }

    /// A path, or a group of them.
    fn tree(&mut self, base: &[String]) {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            while !self.rest.trim_start().starts_with('}') && !self.rest.is_empty() {
                self.tree(base);
                self.rest = self.rest.trim_start_matches(|c| c != ',' && c != '}');
                self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
            }
            self.rest = self.rest.trim_start().strip_prefix('}').unwrap_or("");
            return;
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if name.is_empty() {
            return;
        }
        let mut path = base.to_vec();
        match name {
            "super" => drop(path.pop()),
            "self" => {}
            _ => path.push(name.to_owned()),
        }
        match self.rest.strip_prefix("::") {
            Some(rest) => {
                self.rest = rest;
                self.tree(&path);
            }
            None => self.found.push(path),
        }
    }
}

#[test]
fn groups_and_levels_are_read() {
    let text =
        "use crate::a::{b, c::{self, D}};\nlet x = super::e::f(); // crate::g\nuse super::super::h;\nmy_crate::i();";
    let found: Vec<String> = Imports::of(text, "m/n/o", &[]).iter().map(|path| path.join("/")).collect();
    assert_eq!(found, ["a/b", "a/c", "a/c/D", "m/n/e/f", "m/h"]);
}

#[test]
fn files_below_are_read() {
    let found = Imports::of("mod p;\npub use p::{q, r};\nlet x = other::p::s();", "m/n", &["p"]);
    assert_eq!(found.iter().map(|path| path.join("/")).collect::<Vec<_>>(), ["m/n/p/q", "m/n/p/r"]);
}
