// SPDX-License-Identifier: MIT OR Apache-2.0
//! Public sources that tests build, in the packages of crates that ship them.
use super::said;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Where the package of crate `name` lies, which `tests/<of>/fetch` names. cargo fetches it if need be.
pub fn package(of: &str, name: &str) -> PathBuf {
    static FOUND: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(|e| e.into_inner());
    let found = found.get_or_insert_default();
    found.entry(of.to_owned()).or_insert_with(|| fetch(of, name)).clone()
}

fn fetch(of: &str, name: &str) -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(of).join("fetch/Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]).arg(manifest);
    let told = said(&mut cargo);
    assert_eq!(told.code, Some(0), "cargo cannot fetch {name}: {}", told.err);
    let metadata: Value = serde_json::from_str(&told.out).expect("JSON");
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    let package = packages.find(|package| package["name"] == name).expect("the package");
    Path::new(package["manifest_path"].as_str().expect("a path")).parent().expect("a directory").to_owned()
}
