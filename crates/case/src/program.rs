// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiling a program with the kit's sources: for the lab, and for this host.
use crate::Home;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn instrumented(home: &Home, corefold: &Path, source: &Path, place: &Path) -> Result<PathBuf> {
    let mut compiler = Command::new(corefold);
    compiler.arg("cc");
    compile(compiler, home, source, place.join("simulated"))
}

pub fn native(home: &Home, source: &Path, place: &Path) -> Result<PathBuf> {
    let named = std::env::var("CC").ok().filter(|cc| !cc.is_empty() && !cc.contains("corefold"));
    compile(Command::new(named.as_deref().unwrap_or("gcc")), home, source, place.join("native"))
}

fn compile(mut command: Command, home: &Home, source: &Path, output: PathBuf) -> Result<PathBuf> {
    let kit = home.kit();
    let entries = std::fs::read_dir(kit.join("src")).context("reading the kit's sources")?;
    let mut sources: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    sources.retain(|path| path.extension().is_some_and(|end| end == "c"));
    sources.sort();
    command.args(["-O2", "-g", "-pthread", "-I"]).arg(kit.join("include")).arg(source).args(sources);
    let done = command.arg("-o").arg(&output).output().with_context(|| format!("cannot start {command:?}"))?;
    if !done.status.success() {
        bail!("{} cannot be compiled:\n{}", source.display(), String::from_utf8_lossy(&done.stderr));
    }
    Ok(output)
}
