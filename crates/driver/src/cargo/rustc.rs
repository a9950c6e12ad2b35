// SPDX-License-Identifier: MIT OR Apache-2.0
//! rustc, as cargo calls it for `cargo corefold`: with the hooks for what is built for the target.
//!
//! As a wrapper and not by RUSTFLAGS: cargo takes flags from one of several places (the environment, a target's
//! configuration, the build's), so that ours would replace the user's.
use super::inline::Crate;
use super::words::value;
use super::work::{self, TRIPLE, VARIABLE};
use crate::runtime;
use crate::rust::INLINE;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Debug information as reports need it, whatever the profile says; `cfg(corefold)`, also for build scripts.
const OTHERS: [&str; 10] = [
    "-C",
    "debuginfo=2",
    "-C",
    "strip=none",
    "-C",
    "split-debuginfo=off",
    "--cfg",
    "corefold",
    "--check-cfg",
    "cfg(corefold)",
];

/// Does cargo call this program for rustc? Then it names rustc, or a wrapper, first.
pub fn called(mut args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let first = args.nth(1)?;
    let named = work::is_at_work() && (first == "rustc" || first.as_bytes().contains(&b'/'));
    named.then(|| std::iter::once(first).chain(args).collect())
}

/// Runs rustc. Returns its exit code.
pub fn compile(args: &[OsString]) -> Result<u8> {
    let mut rustc = command(args);
    if args[1..] == ["-vV"] {
        version(&mut rustc)?;
    }
    let words = with_files(args);
    if is_for_target(&words) {
        rustc.args(flags(&runtime::find()?));
        if let Some(call) = Crate::of(&words) {
            return call.compile(rustc);
        }
    }
    Err(rustc.exec()).with_context(|| format!("cannot start {}", rustc.get_program().display()))
}

fn command(args: &[OsString]) -> Command {
    let wrapper = std::env::var_os(VARIABLE).filter(|wrapper| !wrapper.is_empty());
    let mut all = wrapper.into_iter().chain(args.iter().cloned());
    let mut command = Command::new(all.next().expect("rustc is named"));
    command.args(all);
    command
}

/// Ends with what rustc says of its version, and a line of ours: cargo builds all again where the answer is another.
fn version(rustc: &mut Command) -> Result<()> {
    let output = rustc.output().with_context(|| format!("cannot start {}", rustc.get_program().display()))?;
    let mut hasher = DefaultHasher::new();
    (flags(&runtime::find()?), INLINE, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    println!("{}corefold: {:016x}", String::from_utf8_lossy(&output.stdout), hasher.finish());
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    std::process::exit(output.status.code().unwrap_or(1))
}

/// The words, with those of files that are named, `@FILE`, as cargo passes a long call.
fn with_files(args: &[OsString]) -> Vec<OsString> {
    let in_file = |file: &[u8]| std::fs::read(OsStr::from_bytes(file)).unwrap_or_default();
    let lines = |text: &[u8]| -> Vec<OsString> {
        text.split(|&byte| byte == b'\n').map(|line| OsStr::from_bytes(line).into()).collect()
    };
    let words = |word: &OsString| match word.as_bytes() {
        [b'@', file @ ..] => lines(&in_file(file)),
        _ => vec![word.clone()],
    };
    args.iter().flat_map(words).collect()
}

/// cargo names the target for what goes into programs, and not for build scripts and procedural macros.
fn is_for_target(words: &[OsString]) -> bool {
    value(words, "--target").is_some_and(|target| target == TRIPLE)
}

fn flags(runtime: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = corefold_block::rustc::HOOKS.iter().chain(&OTHERS).map(OsString::from).collect();
    // Each for itself: a path may hold commas and blanks.
    for word in runtime::linked(runtime) {
        let mut flag = OsString::from("link-arg=");
        flag.push(word);
        flags.extend(["-C".into(), "link-arg=-Xlinker".into(), "-C".into(), flag]);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_what_is_built_for_the_target_gets_hooks() {
        assert!(is_for_target(&words("rustc --crate-name a --target x86_64-unknown-linux-gnu a.rs")));
        assert!(is_for_target(&words("rustc --target=x86_64-unknown-linux-gnu")));
        assert!(!is_for_target(&words("rustc --crate-name build_script_build build.rs")));
        assert!(!is_for_target(&words("rustc --target wasm32-unknown-unknown a.rs")));
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, b"--crate-name\na\n--target\nx86_64-unknown-linux-gnu\n").unwrap();
        assert!(is_for_target(&with_files(&words(&format!("rustc @{}", file.path().display())))));
    }
}
