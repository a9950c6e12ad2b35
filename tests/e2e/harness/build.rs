// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command under test.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Names the directory of a built command and runtime; without it they are built first.
const BUILT: &str = "COREFOLD_TEST_BIN";
/// Set by `make stress`.
const STRESS: &str = "COREFOLD_STRESS";

/// Shall tests that repeat things repeat them often?
pub fn stress() -> bool {
    std::env::var_os(STRESS).is_some()
}

/// The command, with the runtime beside it.
pub fn corefold() -> &'static Path {
    static COMMAND: OnceLock<PathBuf> = OnceLock::new();
    COMMAND.get_or_init(|| {
        let directory = std::env::var_os(BUILT).map_or_else(build, PathBuf::from);
        let command = directory.join("corefold");
        assert!(command.is_file(), "{BUILT}: there is no {}", command.display());
        command
    })
}

/// Builds both as the Makefile does, into the target directory that this test was built in.
fn build() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a directory in the target directory");
    for package in [&[][..], &["-p", "corefold-engine"]] {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked", "--release", "--target-dir"]).arg(target).args(package);
        cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        assert!(cargo.status().expect("cargo starts").success(), "cargo build fails");
    }
    target.join("release")
}
