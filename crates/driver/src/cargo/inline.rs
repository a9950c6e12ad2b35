// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rust's hooks as inline code. rustc calls no assembler, so it is asked for its assembly, too; the object that `corefold cc`
//! makes of that takes the place of rustc's: in a library when rustc has ended, in a program as rustc links it.
//!
//! An object that cannot be replaced stays, and its hooks are calls.
use super::words::{value, values};
use crate::cc;
use crate::rust::HOOK;
use anyhow::{Context, Result, ensure};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The subcommand that rustc calls in place of the linker, which these variables name, and the assembly.
const LINK: &str = "link-rust";
const LINKER: &str = "COREFOLD_RUST_LINKER";
const ASSEMBLY: &str = "COREFOLD_RUST_ASSEMBLY";

/// The linker that rustc calls on this target unless it is told another.
const USUAL: &str = "cc";

/// A call of rustc that generates code.
pub struct Crate {
    /// Where rustc puts the assembly.
    assembly: PathBuf,
    linker: OsString,
}

impl Crate {
    /// Of the words of the call; none if it links nothing, or where the user asks for assembly.
    pub fn of(words: &[OsString]) -> Option<Crate> {
        let emits = |kind: &str| values(words, "--emit").any(|list| lists(&list, kind));
        let mut name = value(words, "--crate-name")?;
        name.push(codegen(words, "extra-filename=").unwrap_or_default());
        name.push(".s");
        let assembly = Path::new(&value(words, "--out-dir")?).join(name);
        let linker = codegen(words, "linker=").unwrap_or_else(|| USUAL.into());
        (emits("link") && !emits("asm")).then_some(Crate { assembly, linker })
    }

    /// Runs rustc, with the options that its call has already. Returns its exit code.
    pub fn compile(&self, mut rustc: Command) -> Result<u8> {
        // rustc tells the kind of a linker by its name.
        let name = Path::new(&self.linker).file_name().and_then(OsStr::to_str).unwrap_or(USUAL);
        rustc.args(["--emit=asm", "-C"]).arg(cc::joined("linker=", &cc::stand_in(name, LINK)?));
        rustc.env(LINKER, &self.linker).env(ASSEMBLY, &self.assembly);
        let status = rustc.status().with_context(|| format!("cannot start {}", rustc.get_program().display()))?;
        for library in self.libraries().iter().filter(|path| status.success() && path.is_file()) {
            told(replace_in(library, &self.assembly), library);
        }
        // Not all are there: rustc may have had nothing to compile.
        for file in [&self.assembly, &object_of(&self.assembly)] {
            _ = std::fs::remove_file(file);
        }
        Ok(cc::exit_code(status))
    }

    fn libraries(&self) -> [PathBuf; 2] {
        let stem = self.assembly.file_stem().unwrap_or_default();
        ["rlib", "a"]
            .map(|ending| self.assembly.with_file_name(cc::joined("lib", Path::new(stem))).with_added_extension(ending))
    }
}

/// The arguments for the linker, if rustc calls this program in its place.
pub fn linker_called(mut args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    (args.nth(1)? == LINK).then(|| args.collect())
}

/// Becomes the linker; returns only if it cannot.
pub fn link(mut args: Vec<OsString>) -> anyhow::Error {
    let named = |variable| std::env::var_os(variable).with_context(|| format!("{variable} is not set"));
    let become_it = || -> Result<std::convert::Infallible> {
        let (linker, assembly) = (named(LINKER)?, PathBuf::from(named(ASSEMBLY)?));
        let is_hooked = |file: &OsString| {
            let name = Path::new(file).file_name().unwrap_or_default();
            is_of(name.as_bytes(), &assembly) && std::fs::read(file).is_ok_and(|object| calls_hooks(&object))
        };
        if let Some(object) = args.iter_mut().find(|file| is_hooked(file)) {
            let ours = object_of(&assembly);
            if told(cc::object_of_rust(&assembly, &ours), Path::new(object)) {
                *object = ours.into();
            }
        }
        Err(Command::new(&linker).args(args).exec()).with_context(|| format!("cannot start {}", linker.display()))
    };
    become_it().expect_err("there is nothing that it could return")
}

fn replace_in(library: &Path, assembly: &Path) -> Result<()> {
    let bytes = std::fs::read(library)?;
    let archive = ArchiveFile::parse(&*bytes)?;
    let is_hooked = |name: &[u8], data: object::Result<&[u8]>| is_of(name, assembly) && data.is_ok_and(calls_hooks);
    let hooked = archive.members().flatten().find(|member| is_hooked(member.name(), member.data(&*bytes)));
    let Some(member) = hooked else { return Ok(()) };
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    let object = directory.path().join(OsStr::from_bytes(member.name()));
    cc::object_of_rust(assembly, &object)?;
    let status = Command::new("ar").arg("r").arg(library).arg(&object).status().context("cannot start `ar`")?;
    ensure!(status.success(), "`ar` ended with {status}");
    Ok(())
}

/// Is this the name of an object of that assembly's crate? `NAME.….rcgu.o` of `NAME.s`.
fn is_of(name: &[u8], assembly: &Path) -> bool {
    let stem = assembly.file_stem().unwrap_or_default();
    name.strip_prefix(stem.as_bytes()).is_some_and(|rest| rest.starts_with(b".") && rest.ends_with(b".rcgu.o"))
}

/// Of the crate's objects one has the program's code; others have what rustc adds.
fn calls_hooks(object: &[u8]) -> bool {
    let is_hook = |symbol: object::Symbol| symbol.is_undefined() && symbol.name() == Ok(HOOK);
    object::File::parse(object).is_ok_and(|file| file.symbols().any(is_hook))
}

/// Where a program's object goes.
fn object_of(assembly: &Path) -> PathBuf {
    assembly.with_extension("corefold.o")
}

/// Whether it is done; if not, why goes to the user.
fn told(done: Result<()>, file: &Path) -> bool {
    if let Err(error) = &done {
        eprintln!("corefold: the hooks of {} stay calls, which are slower: {error:#}", file.display());
    }
    done.is_ok()
}

/// Is the kind in this list of what rustc is to emit? `KIND`, or `KIND=FILE`.
fn lists(list: &OsStr, kind: &str) -> bool {
    let mut words = list.as_bytes().split(|&byte| byte == b',');
    words.any(|word| word.split(|&byte| byte == b'=').next() == Some(kind.as_bytes()))
}

/// The value of an option for code generation, the last one: `-C NAME=VALUE`, `-CNAME=VALUE`.
fn codegen(words: &[OsString], name: &str) -> Option<OsString> {
    let of = |(at, word): (usize, &OsString)| match word.as_bytes() {
        b"-C" | b"--codegen" => Some(words.get(at + 1)?.clone()),
        bytes => Some(OsStr::from_bytes(bytes.strip_prefix(b"-C").or(bytes.strip_prefix(b"--codegen="))?).to_owned()),
    };
    let value = |option: OsString| Some(OsString::from_vec(option.as_bytes().strip_prefix(name.as_bytes())?.to_vec()));
    words.iter().enumerate().filter_map(of).filter_map(value).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_assembly_lies_where_rustc_puts_it() {
        let line = "rustc --crate-name a --emit=dep-info,link -C extra-filename=-12 --out-dir /t/deps";
        let of = |more: &str| Crate::of(&words(&format!("{line} {more}")));
        let found = of("-C linker=/usr/bin/clang -Clinker=gcc").unwrap();
        assert_eq!((found.assembly, found.linker), ("/t/deps/a-12.s".into(), "gcc".into()));
        assert_eq!(of("x").unwrap().libraries(), ["/t/deps/liba-12.rlib", "/t/deps/liba-12.a"].map(PathBuf::from));
        for asks in ["--emit=asm", "--emit asm,link", "--emit=asm,link", "--emit=llvm-ir,asm=/t/a.s"] {
            assert!(of(asks).is_none(), "{asks}");
        }
        assert!(of("--emit=llvm-ir").is_some());
        assert!(Crate::of(&words("rustc --crate-name a --emit=dep-info,metadata --out-dir /t")).is_none());
        assert!(Crate::of(&words("rustc - --crate-name ___ --print=file-names")).is_none());
    }

    #[test]
    fn objects_of_a_crate_are_known_by_their_names() {
        for (name, is) in [
            ("a-12.a.6ec9df5f4592a71b-cgu.0.rcgu.o", true),
            ("a-12.1n6e.rcgu.o", true),
            ("a-123.1n6e.rcgu.o", false),
            ("liba-12.rlib", false),
        ] {
            assert_eq!(is_of(name.as_bytes(), Path::new("/t/deps/a-12.s")), is, "{name}");
        }
    }
}
