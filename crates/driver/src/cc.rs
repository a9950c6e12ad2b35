// SPDX-License-Identifier: MIT OR Apache-2.0
//! `corefold cc` and `corefold c++`: gcc or clang, with the hooks compiled in and the runtime linked.
//!
//! The arguments go to the compiler as they are. For gcc, what is ours goes into a specs file: options for
//! the compiler proper, which gcc's driver never sees (given `-fsanitize=thread` itself, it would link
//! TSan's runtime), and the runtime for the linker, which `-c` then never warns about. clang has no
//! such files, and gets arguments.
mod arguments;
mod assembler;
mod assembly;
mod cache;
mod clang;
mod dialect;
mod features;
mod hooks;
mod installed;
mod response;
mod specs;
mod statements;
mod unseen;

pub use assembler::{ASSEMBLE, assemble, exit_code, object_of_rust};

use crate::cargo::work;
use crate::exit::bad_input;
use crate::runtime;
use anyhow::{Context, Result};
use arguments::Arguments;
pub(crate) use arguments::joined;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cxx,
}

impl Language {
    /// The environment variable that names another compiler, and the usual one.
    fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("COREFOLD_CC", "gcc"),
            Language::Cxx => ("COREFOLD_CXX", "g++"),
        }
    }
}

impl Language {
    /// The compiler to run. If only the C compiler is named, and is clang, its C++ side is meant too.
    fn named(self) -> String {
        let set = |variable| std::env::var(variable).ok().filter(|named: &String| !named.trim().is_empty());
        let (variable, usual) = self.compiler();
        let of_c = || set(Language::C.compiler().0).and_then(|named| clang::cxx_of(&named));
        let sister = || (self == Language::Cxx).then(of_c).flatten();
        set(variable).or_else(sister).unwrap_or_else(|| usual.to_owned())
    }
}

/// The compiler that a name of the command stands for: `corefold cc` in one word, for build systems that drop the second.
pub fn wrapper(name: &OsStr) -> Option<Language> {
    match name.to_str()? {
        "corefold-cc" => Some(Language::C),
        "corefold-c++" => Some(Language::Cxx),
        _ => None,
    }
}

/// Becomes the compiler; returns only if it cannot.
pub fn compile(language: Language, args: Vec<OsString>) -> anyhow::Error {
    match command(language, args) {
        Ok(mut command) => {
            let error = command.exec();
            let (variable, _) = language.compiler();
            bad_input!(
                "cannot start {}: {error} (set {variable} to use another compiler)",
                command.get_program().display()
            )
        }
        Err(error) => error,
    }
}

fn command(language: Language, args: Vec<OsString>) -> Result<Command> {
    let named = language.named();
    let words: Vec<&str> = named.split_whitespace().collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    if work::is_for_host() {
        command.args(args);
        return Ok(command);
    }
    let args = Arguments::check(args)?;
    let own = corefold()?;
    if clang::is_clang(&words) {
        let runtime = args.links.then(runtime::find).transpose()?;
        command.args(clang::arguments(&own, runtime.as_deref(), args.cleaned)?);
    } else {
        let runtime = if args.links { Some(runtime::find()?) } else { runtime::find().ok() };
        let files = specs::install(&own, runtime.as_deref())?;
        command.arg(joined("-specs=", &files.specs));
        command.args(args.cleaned.iter().any(is_assembly).then(|| joined("-B", &files.tools)));
        command.arg("-D__COREFOLD__=1").arg("-isystem").arg(&files.include).args(args.cleaned);
    }
    Ok(command)
}

/// The file of the command `corefold`, which compilers call in place of `as`: this program, or the one beside it.
pub(crate) fn corefold() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    if !own.file_name().is_some_and(|name| name == work::NAME || wrapper(name).is_some()) {
        return Ok(own);
    }
    let beside = own.with_file_name("corefold");
    match beside.is_file() {
        true => Ok(beside),
        false => Err(bad_input!("{} needs the command corefold beside it", own.display())),
    }
}

/// A file of assembly, or the option that says that the others are.
fn is_assembly(arg: &OsString) -> bool {
    let arg = arg.as_encoded_bytes();
    [&b".s"[..], b".S", b".sx"].iter().any(|end| arg.ends_with(end)) || arg.windows(9).any(|part| part == b"assembler")
}

/// A script of that name that starts `corefold` with these words first, where a compiler starts a program of its own.
pub fn stand_in(name: &str, words: &str) -> Result<PathBuf> {
    let file = installed::File { name, content: installed::script(&corefold()?, words), runs: true };
    Ok(installed::install(&[file])?.join(name))
}
