// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment that cargo gets: how rustc and the compilers of C and C++ are called.
use super::work::{TRIPLE, VARIABLE};
use crate::exit::bad_input;
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler's variable, ours in place of it, and where ours finds the one to call.
const COMPILERS: [(&str, &str, &str); 2] =
    [("CC", "corefold-cc", "COREFOLD_CC"), ("CXX", "corefold-c++", "COREFOLD_CXX")];

pub fn set(cargo: &mut Command, target_directory: Option<PathBuf>) -> Result<()> {
    let corefold = crate::cc::corefold()?;
    // The user's own wrapper is called by ours.
    let wrapper = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"].iter().find_map(std::env::var_os);
    cargo.env(VARIABLE, wrapper.unwrap_or_default()).env("RUSTC_WRAPPER", &corefold);
    cargo.env_remove(format!("CARGO_TARGET_{}_RUNNER", underlined().to_uppercase()));
    if let Some(directory) = target_directory {
        cargo.env("CARGO_TARGET_DIR", directory);
    }
    COMPILERS.iter().try_for_each(|compiler| compilers(cargo, &corefold, compiler))
}

/// `CC` in all spellings that build scripts look for: the crates `cc` and `cmake` take the first of these.
fn compilers(cargo: &mut Command, corefold: &Path, (name, ours, calls): &(&str, &str, &str)) -> Result<()> {
    let compiler = corefold.with_file_name(ours);
    if !compiler.is_file() {
        return Err(bad_input!("cargo corefold needs {ours} beside {}, as `make install` puts it", corefold.display()));
    }
    let names =
        [format!("{name}_{TRIPLE}"), format!("{name}_{}", underlined()), format!("TARGET_{name}"), (*name).into()];
    if let Some(users) = users(&names).filter(|_| std::env::var_os(calls).is_none()) {
        cargo.env(calls, users);
    }
    cargo.envs(names.iter().map(|name| (name, &compiler)));
    Ok(())
}

/// The compiler that the user has build scripts call.
fn users(names: &[String]) -> Option<OsString> {
    names.iter().find_map(std::env::var_os).filter(|value| !value.is_empty())
}

fn underlined() -> String {
    TRIPLE.replace('-', "_")
}
