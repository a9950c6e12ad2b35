// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compilers call in place of `as`: filters the assembly, then runs `as`.
use super::{assembly, dialect};
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// The first argument, if the assembly is clang's.
pub const OF_CLANG: &str = "--of-clang";

/// Assembles with the hooks inlined. Returns the exit code of `as`.
pub fn assemble(mut args: Vec<OsString>) -> Result<u8> {
    let of_clang = args.first().is_some_and(|arg| arg == OF_CLANG);
    args.drain(..usize::from(of_clang));
    let source = args.iter().rposition(|arg| arg.as_encoded_bytes().ends_with(b".s"));
    let assembly = match source {
        Some(at) => std::fs::read(&args[at]).with_context(|| format!("cannot read {}", args[at].display()))?,
        None => from_standard_input()?,
    };
    let inlined = match std::str::from_utf8(&assembly) {
        Ok(text) if of_clang => assembly::inline_hooks(&dialect::adapt(text)).into_bytes(),
        Ok(text) => assembly::inline_hooks(text).into_bytes(),
        // Not the compiler's: assembled as it is, its hooks stay calls.
        Err(_) => assembly,
    };
    let rest = args.iter().enumerate().filter(|(at, _)| Some(*at) != source).map(|(_, arg)| arg.as_os_str());
    run(rest, &inlined)
}

fn from_standard_input() -> Result<Vec<u8>> {
    let mut all = Vec::new();
    std::io::stdin().read_to_end(&mut all).context("cannot read the compiler's output")?;
    Ok(all)
}

fn run<'a>(args: impl Iterator<Item = &'a OsStr>, assembly: &[u8]) -> Result<u8> {
    let mut child = Command::new("as")
        .args(args.filter(|arg| *arg != "-"))
        .arg("-")
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot start the assembler, `as`")?;
    let sent = child.stdin.take().map(|mut input| input.write_all(assembly));
    let status = child.wait().context("cannot wait for the assembler")?;
    // If `as` gave up early, its own message and code tell more than a broken pipe.
    if status.success() {
        sent.transpose().context("cannot reach the assembler")?;
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
