// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lock releases by caller, as a program counted them that was compiled with `CF_LOCK_EVENTS`: kit/bench/vfs/lock_events.c.
use crate::results::Results;
use anyhow::Result;
use corefold_explain::{Place, places};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Files of the kit whose functions are locks or lists of them: their caller counts.
const PRIMITIVES: [&str; 10] =
    ["lru.c", "rhash.c", "rhash_resize.c", "rcu.c", "wait.c", "lock.c", "mutex.c", "rwsem.c", "brlock.c", "osq.c"];

#[derive(Clone, Debug, PartialEq)]
pub struct Releases {
    pub operations: u64,
    /// Most first.
    pub by: Vec<Caller>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    pub primitive: String,
    pub function: String,
    /// Without folders.
    pub file: String,
    pub count: u64,
}

impl Releases {
    /// `None`: a build that does not count them.
    pub fn of(results: Results, program: &Path) -> Result<Option<Releases>> {
        let Some(releases) = results.lock_releases else { return Ok(None) };
        let addresses: Vec<u64> = releases.iter().flat_map(|c| &c.stack).map(|at| at.wrapping_sub(1)).collect();
        let mut named = places(&program.to_string_lossy(), &addresses)?.into_iter();
        let mut counts: BTreeMap<(String, String, String), u64> = BTreeMap::new();
        for counted in releases {
            let stack: Vec<Place> = named.by_ref().take(counted.stack.len()).flatten().collect();
            let (function, file) = caller(&stack);
            *counts.entry((counted.primitive, function, file)).or_default() += counted.count;
        }
        let by =
            counts.into_iter().map(|((primitive, function, file), count)| Caller { primitive, function, file, count });
        let mut by: Vec<_> = by.collect();
        by.sort_by_key(|caller| std::cmp::Reverse(caller.count));
        Ok(Some(Releases { operations: results.operations, by }))
    }

    fn count(&self, files: &[String]) -> u64 {
        let counted = self.by.iter().filter(|caller| files.is_empty() || files.contains(&caller.file));
        counted.map(|caller| caller.count).sum()
    }

    /// By callers in these files (none: in any) for each operation.
    pub fn each(&self, files: &[String]) -> f64 {
        self.count(files) as f64 / self.operations as f64
    }

    /// Lock primitives only, above `least` percent, by caller.
    pub fn text(&self, what: &str, least: f64) -> String {
        let all = self.count(&[]);
        let share = |count: u64| count as f64 / all.max(1) as f64 * 100.0;
        let mut text = format!("\n{what}: {:.2} lock releases for each operation, of which\n", self.each(&[]));
        for caller in self.by.iter().filter(|caller| share(caller.count) >= least) {
            let (share, Caller { primitive, function, file, .. }) = (share(caller.count), caller);
            let _ = writeln!(text, "  {share:>6.2}%  {primitive:<16} {function} ({file})");
        }
        text
    }
}

/// The first function that is not itself a lock's: those of headers and of [`PRIMITIVES`] are.
fn caller(stack: &[Place]) -> (String, String) {
    let file =
        |place: &Place| place.file.as_deref().map_or("", |path| path.rsplit('/').next().unwrap_or(path)).to_owned();
    let is_lock = |file: &str| file.ends_with(".h") || PRIMITIVES.contains(&file);
    let found = stack.iter().find(|place| !is_lock(&file(place))).or(stack.last());
    found.map_or(("unknown".into(), String::new()), |place| (place.function.clone(), file(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(function: &str, file: &str) -> Place {
        Place { function: function.into(), file: Some(format!("/kit/src/{file}")), line: None }
    }

    fn counted(function: &str, file: &str, count: u64) -> Caller {
        Caller { primitive: "spin_unlock".into(), function: function.into(), file: file.into(), count }
    }

    #[test]
    fn the_caller_is_whoever_is_no_lock() {
        let stack = [place("cf_lock_drop", "cf_lock.h"), place("cf_lru_add", "lru.c"), place("put", "dentry.c")];
        assert_eq!(caller(&stack), ("put".into(), "dentry.c".into()));
        assert_eq!(caller(&stack[..2]), ("cf_lru_add".into(), "lru.c".into()));
        assert_eq!(caller(&[]).0, "unknown");
    }

    #[test]
    fn a_run_without_releases_is_not_one_that_counted_none() {
        let of = |releases| {
            Releases::of(
                Results { throughput: 1.0, operations: 10, lock_releases: releases },
                Path::new("/proc/self/exe"),
            )
        };
        assert_eq!(of(None).unwrap(), None);
        let none = of(Some(Vec::new())).unwrap().unwrap();
        assert_eq!(none.each(&[]), 0.0);
        assert!(none.text("scaled", 0.5).contains("scaled: 0.00 lock releases"));
    }

    #[test]
    fn shares_and_rates() {
        let by = vec![counted("put", "dentry.c", 60), counted("get", "icache.c", 39), counted("rare", "icache.c", 1)];
        let releases = Releases { operations: 10, by };
        assert_eq!(releases.each(&["dentry.c".to_owned()]), 6.0);
        assert_eq!(releases.each(&[]), 10.0);
        let text = releases.text("base", 2.0);
        assert!(text.contains(" 60.00%  spin_unlock      put (dentry.c)") && !text.contains("rare"), "{text}");
    }
}
