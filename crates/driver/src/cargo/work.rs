// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether cargo works for `cargo corefold`, and for what it builds then.
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name by which cargo finds its subcommand.
pub const NAME: &str = "cargo-corefold";

/// What is simulated: programs of this host's kind.
pub const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Set where cargo works for `cargo corefold`: the wrapper around rustc that the user has, or nothing.
pub const VARIABLE: &str = "COREFOLD_CARGO";

/// What cargo tells the build scripts of hooked packages, and only these: `--cfg corefold` is among their target's.
const HOOKED: &str = "CARGO_CFG_COREFOLD";

/// Does cargo work for `cargo corefold`?
pub fn is_at_work() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Is this process below a build script of a package that gets no hooks, as it builds a part of cargo's own work?
pub fn is_for_host() -> bool {
    is_at_work() && std::env::var_os("CARGO_CFG_TARGET_OS").is_some() && std::env::var_os(HOOKED).is_none()
}

/// Is the program a part of the build, which cargo starts as it starts the target's? Tests of procedural macros are.
pub fn is_of_build(program: &OsStr) -> bool {
    is_at_work() && !Path::new(program).components().any(|part| part.as_os_str() == TRIPLE)
}

/// The cargo that called us.
pub fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}
