// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compilers call in place of `as`: filters the assembly, then runs `as`.
use super::hooks::{BLOCK_HOOK, Compiler};
use super::{assembly, dialect, statements, unseen};
use crate::rust;
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The subcommand that compilers call in place of `as`.
pub const ASSEMBLE: &str = "assemble";

/// The first argument, if the assembly is clang's.
pub const OF_CLANG: &str = "--of-clang";

/// The first argument, if it may be assembly that somebody wrote: gcc calls `as` itself then, and finds ours.
pub const OF_ANYBODY: &str = "--of-anybody";

/// Assembles with the hooks inlined. Returns the exit code of `as`.
pub fn assemble(mut args: Vec<OsString>) -> Result<u8> {
    let of_clang = args.first().is_some_and(|arg| arg == OF_CLANG);
    let of_anybody = args.first().is_some_and(|arg| arg == OF_ANYBODY);
    args.drain(..usize::from(of_clang || of_anybody));
    if (of_clang || of_anybody)
        && let Some(code) = assemble_as_it_is(&args)?
    {
        return Ok(code);
    }
    let source = args.iter().rposition(|arg| arg.as_encoded_bytes().ends_with(b".s"));
    let assembly = match source {
        Some(at) => std::fs::read(&args[at]).with_context(|| format!("cannot read {}", args[at].display()))?,
        None => from_standard_input()?,
    };
    let inlined = match std::str::from_utf8(&assembly) {
        Ok(text) if of_clang => of_llvm(text).into_bytes(),
        Ok(text) => assembly::inline_hooks(text, Compiler::Gcc).into_bytes(),
        // Not the compiler's: assembled as it is, its hooks stay calls.
        Err(_) => assembly,
    };
    let rest = args.iter().enumerate().filter(|(at, _)| Some(*at) != source).map(|(_, arg)| arg.as_os_str());
    run(rest, &inlined)
}

/// Assembles what rustc wrote, which has the hooks that clang's has, and notes that they are inline code.
pub fn object_of_rust(assembly: &Path, object: &Path) -> Result<()> {
    let text = std::fs::read_to_string(assembly).with_context(|| format!("cannot read {}", assembly.display()))?;
    let inlined = of_llvm(&text) + &format!("\t.ident\t\"{}\"\n", rust::INLINE);
    // LLVM writes prefixes as instructions of their own, of which `as` warns.
    match run(["--64", "--no-warn", "-o"].map(OsStr::new).into_iter().chain([object.as_os_str()]), inlined.as_bytes())?
    {
        0 => Ok(()),
        code => bail!("the assembler ended with exit code {code}"),
    }
}

fn of_llvm(assembly: &str) -> String {
    assembly::inline_hooks(&dialect::adapt(assembly), Compiler::Clang)
}

/// A file of assembly that somebody wrote: stays as it is, and the object says that it is there. None if it
/// is a compiler's, maybe kept from an earlier step.
fn assemble_as_it_is(args: &[OsString]) -> Result<Option<u8>> {
    let named =
        args.iter().rev().map(Path::new).find(|path| path.extension().is_some_and(|e| e != "o") && path.is_file());
    let Some(path) = named else { return Ok(None) };
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
    if text.contains(BLOCK_HOOK) {
        return Ok(None);
    }
    let note = tempfile::Builder::new().suffix(".s").tempfile().context("cannot make a temporary file")?;
    let mut command = Command::new("as");
    command.args(args);
    if statements::file_touches_memory(&text) {
        // `as` reads several files as if they were one.
        std::fs::write(note.path(), unseen::note(unseen::source_of_file(path, &text)))?;
        command.arg(note.path());
    }
    let status = command.status().context("cannot start the assembler, `as`")?;
    Ok(Some(exit_code(status)))
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
    Ok(exit_code(status))
}

pub fn exit_code(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
