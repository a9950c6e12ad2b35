// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine profiles: TOML in, a checked [`Machine`] out.
//!
//! A profile states facts about one machine and nothing else. Every number stands as
//! `key = { value = 40.5, unit = "ns", source = "…" }`, or with `estimated = "from what"` in place of
//! `source`: a number that nobody can vouch for has to say so. Unknown keys are refused, since a
//! misspelt latency would otherwise fall silently back to nothing.
mod builtin;
mod error;
mod keys;
mod mechanism;
mod placement;
mod profile;
mod sensitivity;
mod spelling;
mod text;

use std::path::{Path, PathBuf};

pub use builtin::{Builtin, DEFAULT, builtin, larger_than};
pub use corefold_model::{MOST_CPUS, Machine};
pub use error::Error;
pub use mechanism::{MECHANISMS, Mechanism, without};
pub use placement::{COMPACT, SPREAD, place, placed};
pub use profile::{Fact, Profile};
pub use sensitivity::{Effect, Moves, WRONG_BY};
pub use spelling::nearest;
pub use text::Origin;

/// Loads a built-in profile by its name, or a profile file by its path. A name is taken for a path
/// when it has a slash or ends in `.toml`.
pub fn load(name_or_path: &str) -> Result<Profile, Error> {
    if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
        return load_file(Path::new(name_or_path));
    }
    if name_or_path == HOST {
        return host();
    }
    match builtin().iter().find(|b| b.name == name_or_path) {
        Some(found) => profile::parse(found.file, found.text),
        None => Err(unknown(name_or_path)),
    }
}

/// A profile from its text; `file` is what messages call it.
pub fn parse(file: &str, text: &str) -> Result<Profile, Error> {
    profile::parse(file, text)
}

/// No profile is so large.
const MOST_BYTES: u64 = 16 << 20;

fn load_file(path: &Path) -> Result<Profile, Error> {
    let file = path.display().to_string();
    match corefold_files::read_text(path, MOST_BYTES) {
        Ok(text) => profile::parse(&file, &text),
        Err(e) => Err(Error::file(&file, format!("cannot read this profile: {e}"))),
    }
}

/// The machine that this is, once it has been measured.
pub const HOST: &str = "host";

/// Where the profile of this host lies.
pub fn host_file() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|c| !c.is_empty()).map(PathBuf::from).or_else(home)?;
    Some(config.join("corefold").join("host.toml"))
}

fn host() -> Result<Profile, Error> {
    match host_file() {
        Some(file) if file.exists() => load_file(&file),
        _ => Err(Error::plain(
            "this host has not been measured: run `corefold machine calibrate`, which takes under a minute".into(),
        )),
    }
}

fn unknown(name: &str) -> Error {
    let known: Vec<&str> = builtin().iter().map(|b| b.name).collect();
    let hint = match begun(name, &known).or_else(|| nearest(name, known.iter().copied())) {
        Some(near) => format!("; did you mean {near:?}?"),
        None => ".".into(),
    };
    Error::plain(format!(
        "unknown machine {name:?}{hint} Known: {}. A profile of your own is named by its path (./m.toml).",
        known.join(", ")
    ))
}

/// The first name that begins like this.
fn begun<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known.iter().copied().find(|k| !name.is_empty() && k.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_known_and_the_nearest() {
        let said = load("skylake-2s-81").unwrap_err().to_string();
        assert!(said.contains("did you mean \"skylake-2s-80\"?"), "{said}");
        assert!(said.contains("xeon-4s-80") && said.contains("generic-1024"), "{said}");
        assert!(load("skylake").unwrap_err().to_string().contains("did you mean \"skylake-2s-80\"? Known"));
        assert!(load("pdp11").unwrap_err().to_string().starts_with("unknown machine \"pdp11\". Known: "));
        assert!(!load("pdp11").unwrap_err().to_string().contains("did you mean"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let said = load("./no/such.toml").unwrap_err().to_string();
        assert!(said.starts_with("./no/such.toml: cannot read this profile"), "{said}");
    }

    #[test]
    fn a_file_is_found_by_its_path() {
        let path = format!("{}/../../machines/xeon-4s-80.toml", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(load(&path).unwrap().machine, load("xeon-4s-80").unwrap().machine);
    }
}
