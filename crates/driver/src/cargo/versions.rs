// SPDX-License-Identifier: MIT OR Apache-2.0
//! The versions of rustc that tests have built with.
use super::work::TRIPLE;
use crate::exit::bad_input;
use anyhow::{Context, Result};
use std::process::Command;

/// Major and minor numbers of stable versions, with any patch, and whole names of others; docs/rust.md has the same table.
pub const TESTED: &[&str] = &["1.95", "1.97.0-nightly"];

/// Says on standard error if the rustc that cargo will call is none of these. It is tried: whether its programs
/// have hooks is checked before they are run.
pub fn note() -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output =
        Command::new(&rustc).arg("-vV").output().with_context(|| format!("cannot start {}", rustc.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
    if line("host: ") != TRIPLE {
        return Err(bad_input!(
            "rustc of {} builds for {}: only {TRIPLE} can be simulated",
            rustc.display(),
            line("host: ")
        ));
    }
    if !is_tested(line("release: ")) {
        eprintln!(
            "corefold: rustc {} has not been tested with corefold ({}): trying it",
            line("release: "),
            TESTED.join(", ")
        );
    }
    Ok(())
}

pub fn is_tested(release: &str) -> bool {
    let is = |tested: &&str| {
        let is_patch = |patch: &str| patch.starts_with('.') && !patch.contains('-');
        release == *tested || release.strip_prefix(*tested).is_some_and(is_patch)
    };
    TESTED.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_of_a_tested_version_are_tested() {
        for (release, tested) in [("1.95.0", true), ("1.95.1", true), ("1.9.5", false), ("1.950.0", false)] {
            assert_eq!(is_tested(release), tested, "{release}");
        }
        assert!(is_tested("1.97.0-nightly") && !is_tested("1.95.0-nightly") && !is_tested("1.97.0"));
        let page = include_str!("../../../../docs/rust.md");
        assert!(TESTED.iter().all(|tested| page.contains(&format!("| {tested} |"))), "docs/rust.md has the table");
    }
}
