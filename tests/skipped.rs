// SPDX-License-Identifier: MIT OR Apache-2.0
//! A test that cannot run here, or only in part, says so: at once, and in the list that `make test` ends with
//! (scripts/skipped). Test programs of all crates include this file.
use std::io::Write;
use std::path::Path;

/// Says that the test that calls this is left out, in whole or in part, and why. Not by `println!`: the harness keeps back
/// what a test prints that passes.
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("SKIPPED {test}: {}\n", reason.trim().replace('\n', "; "));
    // Nothing can be done about a closed stream.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os("COREFOLD_SKIPPED") {
        append(Path::new(&list), &line);
    }
}

/// At once, and at the file's end: tests of other threads and processes append to it meanwhile.
pub fn append(list: &Path, line: &str) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(list);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|e| panic!("{}: {e}", list.display()));
}
