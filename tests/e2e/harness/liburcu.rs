// SPDX-License-Identifier: MIT OR Apache-2.0
//! liburcu's source, for programs that are compiled together with it: its grace periods cost what they cost, and its
//! accesses are seen.
use super::skipped;
use super::suite::{Together, unpacked};
use std::sync::OnceLock;

/// Options for the compiler, sources included; `None` where the source package cannot be had: the test is skipped.
pub fn liburcu() -> Option<&'static [String]> {
    static OPTIONS: OnceLock<Result<Vec<String>, String>> = OnceLock::new();
    match OPTIONS.get_or_init(options) {
        Ok(options) => Some(options),
        Err(reason) => {
            skipped(&format!("it needs the source of liburcu: {reason}"));
            None
        }
    }
}

fn options() -> Result<Vec<String>, String> {
    let (source, together) = unpacked("liburcu")?;
    let Together { sources, flags: mut options, configuration } = together.expect("a table \"together\"");
    let configured = source.join("configured");
    std::fs::create_dir_all(configured.join("urcu")).unwrap();
    std::fs::write(configured.join("urcu/config.h"), configuration).unwrap();
    std::fs::write(configured.join("config.h"), "").unwrap();
    for directory in [configured, source.join("include"), source.join("src")] {
        options.extend(["-I".to_owned(), directory.display().to_string()]);
    }
    options.extend(sources.iter().map(|name| source.join("src").join(name).display().to_string()));
    Ok(options)
}
