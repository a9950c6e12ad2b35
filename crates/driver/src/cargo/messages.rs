// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that cargo says it has built.
use anyhow::{Context, Result};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// A program that cargo built, or found built.
#[derive(Debug, PartialEq)]
pub struct Built {
    pub path: PathBuf,
}

/// Runs cargo, whose messages are JSON but for those of rustc, which it prints itself.
pub fn read(cargo: &mut Command) -> Result<(ExitStatus, Vec<Built>)> {
    let cannot = || "cannot start cargo";
    let mut child = cargo.stdout(Stdio::piped()).spawn().with_context(cannot)?;
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut built = Vec::new();
    for line in output.split(b'\n') {
        built.extend(program(&line.context("reading cargo's messages")?));
    }
    Ok((child.wait().with_context(cannot)?, built))
}

fn program(line: &[u8]) -> Option<Built> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let kinds = message["target"]["kind"].as_array()?;
    if message["reason"] != "compiler-artifact" || kinds.iter().any(|kind| kind == "custom-build") {
        return None;
    }
    Some(Built { path: PathBuf::from(message["executable"].as_str()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_libraries_and_build_scripts() {
        let message = |reason: &str, kind: &str, executable: &str| {
            format!(r#"{{"reason":"{reason}","target":{{"kind":["{kind}"]}},"executable":{executable}}}"#)
        };
        let found = |text: String| program(text.as_bytes());
        let built = Some(Built { path: "/t/a".into() });
        assert_eq!(found(message("compiler-artifact", "bin", r#""/t/a""#)), built);
        assert_eq!(found(message("compiler-artifact", "lib", "null")), None);
        assert_eq!(found(message("compiler-artifact", "custom-build", r#""/t/b""#)), None);
        assert_eq!(found(message("build-finished", "bin", r#""/t/a""#)), None);
        assert_eq!(found("what a build script printed".into()), None);
    }
}
