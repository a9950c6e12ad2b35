// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of Rust types, as their author writes them: the debug information has all paths and default parameters.
use crate::dwarf::{Debug, Die};

/// Parameters that nobody writes.
const DEFAULTS: [&str; 4] = [
    ", alloc::alloc::Global",
    ", hashbrown::raw::inner::alloc::inner::Global",
    ", hashbrown::alloc::inner::Global",
    ", std::hash::random::RandomState",
];

/// Crates that every program has: their paths tell nothing.
const STANDARD: [&str; 3] = ["std::", "core::", "alloc::"];

/// A type's name, shortened if it is of Rust.
pub(crate) fn type_name(debug: &Debug, kind: Die) -> String {
    let name = debug.type_name(kind);
    if debug.is_rust(kind) { short_type(&name) } else { name }
}

/// The same without the path before it.
pub(crate) fn short_name(debug: &Debug, kind: Die) -> String {
    let name = debug.short_name(kind);
    if debug.is_rust(kind) { short_type(&name) } else { name }
}

/// `pool::Job<alloc::vec::Vec<pool::Part, alloc::alloc::Global>>` is `pool::Job<Vec<Part>>`: paths are told of the
/// type itself only, and not of the standard library's.
fn short_type(name: &str) -> String {
    let name = DEFAULTS.iter().fold(name.to_owned(), |name, default| name.replace(default, ""));
    let (path, arguments) = name.split_at(name.find('<').unwrap_or(name.len()));
    let is_standard = STANDARD.iter().any(|start| path.starts_with(start));
    let path = if is_standard { last(path).to_owned() } else { path.to_owned() };
    path + &without_paths(arguments)
}

fn without_paths(text: &str) -> String {
    let mut short = String::new();
    let mut path = String::new();
    for letter in text.chars() {
        if letter.is_alphanumeric() || "_:{}#".contains(letter) {
            path.push(letter);
        } else {
            short += last(&path);
            path.clear();
            short.push(letter);
        }
    }
    short + last(&path)
}

/// The end of a path: a name, and for a closure or a future also the function that it is of.
fn last(path: &str) -> &str {
    let parts = path.rmatch_indices("::").map(|(at, _)| at + 2).chain([0]);
    let named = |start: &usize| !path[*start..].starts_with('{');
    parts.into_iter().find(named).map_or(path, |start| &path[start..])
}

#[cfg(test)]
mod tests {
    use super::short_type;

    #[test]
    fn paths_and_defaults_are_left_out() {
        let names = [
            ("alloc::sync::ArcInner<h::Stats>", "ArcInner<Stats>"),
            ("h::Stats", "h::Stats"),
            ("u64", "u64"),
            ("Slot<(usize, [core::sync::atomic::AtomicU64; 4])>", "Slot<(usize, [AtomicU64; 4])>"),
            ("pool::Job<alloc::vec::Vec<pool::Part, alloc::alloc::Global>>", "pool::Job<Vec<Part>>"),
            ("Packet<&mut dyn core::fmt::Debug>", "Packet<&mut dyn Debug>"),
            (
                "Cell<real::main::{async_block_env#0}, a::b::{impl#1}::run::{closure_env#0}>",
                "Cell<main::{async_block_env#0}, run::{closure_env#0}>",
            ),
            (
                "std::collections::hash::map::HashMap<u32, alloc::string::String, std::hash::random::RandomState>",
                "HashMap<u32, String>",
            ),
        ];
        names.iter().for_each(|(long, short)| assert_eq!(short_type(long), *short));
    }
}
