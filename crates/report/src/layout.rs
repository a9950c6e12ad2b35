// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures on cache lines: as C declarations, in an array or slab slot by slot, and compared between two builds.
mod diff;
mod diff_json;
mod diff_text;
mod form;
mod glob;
mod heat;
mod json;
mod leaves;
mod look;
mod slots;
mod slots_text;
mod text;

pub use diff::{Builds, Change, Differences, PairChange, differences};
pub use diff_json::differences as differences_json;
pub use diff_text::text as differences_text;
pub use heat::Heat;
pub use json::{slots as slots_json, structures as structures_json};
pub use look::Look;
pub use slots::Stride;
pub use slots_text::{InArray, Slots, text as slots_text};
pub use text::text as structure_text;

use corefold_dwarf::{Structure, Types};

/// The structures that the patterns name, in the order of the file; all of them, if there is no pattern.
/// An error is the first pattern that names none.
pub fn select<'a>(types: &'a Types, patterns: &[String]) -> Result<Vec<&'a Structure>, String> {
    let all = types.structures();
    if patterns.is_empty() {
        return Ok(all.iter().collect());
    }
    let fits = |pattern: &str, structure: &Structure| is_named(structure, pattern);
    if let Some(none) = patterns.iter().find(|pattern| !all.iter().any(|s| fits(pattern, s))) {
        return Err(none.clone());
    }
    Ok(all.iter().filter(|s| patterns.iter().any(|pattern| fits(pattern, s))).collect())
}

/// `inode`, `struct inode`, `ns::table` or `table`, and globs of them.
fn is_named(structure: &Structure, pattern: &str) -> bool {
    let keywords = ["struct ", "union ", "class ", "enum "];
    let pattern = keywords.iter().find_map(|keyword| pattern.strip_prefix(keyword)).unwrap_or(pattern);
    if glob::matches(pattern, &structure.name) {
        return true;
    }
    let unscoped = unscoped(&structure.name);
    unscoped.len() < structure.name.len() && !pattern.contains("::") && glob::matches(pattern, unscoped)
}

/// `table<a::b>` of `ns::table<a::b>`, `cursor` of `table<a::b>::cursor`.
fn unscoped(name: &str) -> &str {
    let (mut depth, mut cut) = (0, 0);
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            // The arrow of a return type is no bracket.
            b'>' if !name[..at].ends_with('-') => depth -= 1,
            b':' if depth == 0 && name[at..].starts_with("::") => cut = at + 2,
            _ => {}
        }
    }
    &name[cut..]
}

/// Names like one that is not there: those that have most in common with it at the beginning, or contain it.
pub fn similar(types: &Types, name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let score = |other: &str| {
        let other = other.to_lowercase();
        let common = lower.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        // A name of a letter or two is in most others.
        let is_part = lower.contains(&other) && 2 * other.len() >= lower.len();
        let contained = if other.contains(&lower) || is_part { 3 } else { 0 };
        (common + contained) as i64 * 4 - (other.len() as i64 - lower.len() as i64).abs()
    };
    let mut names: Vec<&str> = types.structures().iter().map(|s| s.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.sort_by_key(|other| -score(other));
    names.into_iter().take(3).filter(|other| score(other) > 6).map(str::to_owned).collect()
}
