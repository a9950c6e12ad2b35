// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the user's arguments ask of the compiler, and what of it cannot be simulated.
use super::response;
use crate::exit::bad_input;
use anyhow::Result;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The user's own, less `-fsanitize=thread`: given to a compiler's driver, that would link TSan's runtime.
    pub cleaned: Vec<OsString>,
    /// The compiler will call the linker for a program or a shared library.
    pub links: bool,
}

/// Options that end before the link, or ask the compiler about itself.
const NO_LINK: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-r",
    "--version",
    "--help",
    "-dumpversion",
    "--analyze",
    "--precompile",
    "-emit-ast",
];

/// What a header is called that is to be precompiled.
const HEADERS: &[&str] = &[".h", ".hh", ".hpp", ".hxx"];

/// Options whose value is the next argument, which therefore is no option, however it looks.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-u",
    "-z",
    "-T",
    "-A",
    "-B",
    "-MF",
    "-MT",
    "-MQ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-aux-info",
    "-dumpbase",
    "-dumpdir",
    "-wrapper",
    "--param",
    "-target",
    "-mllvm",
    "-Xclang",
    "-include-pch",
    "-gcc-toolchain",
    "-resource-dir",
    "-working-directory",
    "--sysroot",
    "--config",
];

const STATIC: &[&str] = &["-static", "--static", "-static-pie"];
const OTHER_WIDTH: &[&str] = &["-m32", "-mx32", "-m16"];
const BITCODE: &str = "-emit-llvm";
const OTHER_SANITIZERS: &[&str] = &["address", "kernel-address", "hwaddress", "kernel-hwaddress", "leak", "memory"];

impl Arguments {
    pub fn check(args: Vec<OsString>) -> Result<Arguments> {
        let seen = Seen::of(&args);
        seen.refuse()?;
        let mut cleaned = Vec::with_capacity(args.len());
        let mut value = false;
        for arg in args {
            cleaned.extend(if value { Some(arg.clone()) } else { without_thread(&arg) });
            value = !value && takes_value(&arg);
        }
        Ok(Arguments { cleaned, links: seen.links() })
    }
}

/// The options alone, response files read, and whether there is any input.
#[derive(Default)]
struct Seen {
    options: Vec<String>,
    /// Options that came out of response files, which go to gcc as they are.
    in_files: Vec<String>,
    input: bool,
    /// All of it is headers, to be precompiled.
    headers: bool,
    /// What `-x` and `-target` say, as they stand.
    language: Option<String>,
    target: Option<String>,
}

impl Seen {
    fn of(args: &[OsString]) -> Seen {
        let mut seen = Seen { headers: true, ..Seen::default() };
        let mut option: Option<OsString> = None;
        for arg in args {
            for word in response::expand(arg) {
                if let Some(option) = option.take() {
                    seen.value(&option, &word);
                    continue;
                }
                seen.add(&word, arg.as_bytes().starts_with(b"@"));
                option = takes_value(&word).then_some(word);
            }
        }
        seen
    }

    fn value(&mut self, option: &OsString, value: &OsString) {
        let value = value.to_string_lossy().into_owned();
        match option.to_str() {
            Some("-x") => self.language = Some(value),
            Some("-Xclang") if value == BITCODE => self.options.push(value),
            Some("-target") => self.target = Some(format!("-target {value}")),
            _ => {}
        }
    }

    fn add(&mut self, word: &OsString, in_file: bool) {
        let word = word.to_string_lossy().into_owned();
        let file = !word.starts_with('-') || word == "-";
        let input = file || word.starts_with("-l");
        self.input |= input;
        self.headers &= !input || file && self.is_header(&word);
        if word.starts_with("--target=") {
            self.target = Some(word.clone());
        }
        if in_file {
            self.in_files.push(word.clone());
        }
        self.options.push(word);
    }

    fn is_header(&self, file: &str) -> bool {
        match self.language.as_deref() {
            Some(language) if language != "none" => language.ends_with("-header"),
            _ => HEADERS.iter().any(|end| file.ends_with(end)),
        }
    }

    fn has(&self, any_of: &[&str]) -> Option<&str> {
        self.options.iter().map(String::as_str).find(|o| any_of.contains(o))
    }

    fn links(&self) -> bool {
        self.input && !self.headers && self.has(NO_LINK).is_none()
    }

    fn refuse(&self) -> Result<()> {
        if let Some(option) = self.has(OTHER_WIDTH) {
            return Err(bad_input!("{option}: corefold simulates x86-64 programs only"));
        }
        let ours = |target: &&String| target.split_once(['=', ' ']).is_some_and(|(_, t)| t.starts_with("x86_64"));
        if let Some(target) = self.target.as_ref().filter(|target| !ours(target)) {
            return Err(bad_input!("{target}: corefold simulates x86-64 programs only"));
        }
        if let Some(option) = self.has(&["-masm=intel"]) {
            return Err(bad_input!("{option}: corefold's instrumentation is in AT&T syntax; compile without {option}"));
        }
        if let Some(option) = self.has(&[BITCODE]) {
            return Err(bad_input!(
                "{option}: bitcode would be instrumented twice, once now and once when it is compiled; compile to object \
                 files, without {option}"
            ));
        }
        if let (true, Some(option)) = (self.links(), self.has(STATIC)) {
            return Err(bad_input!(
                "{option}: a fully static program has its own copy of libc, whose calls (pthread_create, futex, \
                 clock_gettime) cannot be taken over; link it without {option}"
            ));
        }
        for option in &self.options {
            if let Some(other) = sanitizers(option).find(|s| OTHER_SANITIZERS.contains(s)) {
                return Err(bad_input!(
                    "-fsanitize={other} cannot be combined with corefold's instrumentation: build without it"
                ));
            }
        }
        match self.in_files.iter().any(|o| sanitizers(o).any(|s| s == "thread")) {
            true => Err(bad_input!(
                "-fsanitize=thread in a response file would link TSan's runtime: remove it (corefold adds the instrumentation)"
            )),
            false => Ok(()),
        }
    }
}

fn takes_value(arg: &OsString) -> bool {
    arg.to_str().is_some_and(|a| WITH_VALUE.contains(&a))
}

/// What `-fsanitize=a,b` names.
fn sanitizers(option: &str) -> impl Iterator<Item = &str> {
    option.strip_prefix("-fsanitize=").into_iter().flat_map(|list| list.split(','))
}

/// The argument with `thread` taken from its `-fsanitize=` list; none if that was all.
fn without_thread(arg: &OsString) -> Option<OsString> {
    let Some(list) = arg.to_str().and_then(|a| a.strip_prefix("-fsanitize=")) else {
        return Some(arg.clone());
    };
    let rest: Vec<&str> = list.split(',').filter(|&s| s != "thread").collect();
    (!rest.is_empty()).then(|| format!("-fsanitize={}", rest.join(",")).into())
}

/// An option and its path, in one word.
pub(crate) fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(OsStr::new(path));
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Arguments> {
        Arguments::check(line.split_whitespace().map(OsString::from).collect())
    }

    fn refused(line: &str) -> String {
        check(line).unwrap_err().to_string()
    }

    #[test]
    fn the_arguments_go_through_untouched() {
        let line = "-O2 -Wall -DX=1 -o a.out a.c @rsp -lm -fsanitize=undefined -static-libgcc -nostdlib";
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(check(line).unwrap().cleaned, words);
    }

    #[test]
    fn linking_is_told_from_compiling() {
        for line in ["a.c", "a.o -o a", "-shared a.o", "-v a.c", "-MD a.c", "-lm", "-x c -"] {
            assert!(check(line).unwrap().links, "{line}");
        }
        for line in
            ["-c a.c", "-S a.c", "-E a.c", "-M a.c", "-MM a.c", "-r a.o", "--version", "-v", "-print-prog-name=ld", ""]
        {
            assert!(!check(line).unwrap().links, "{line}");
        }
    }

    #[test]
    fn headers_are_precompiled_and_not_linked() {
        for line in ["a.h", "-o a.gch a.hpp", "-x c++-header a", "-x c -x c-header - -o a.pch"] {
            assert!(!check(line).unwrap().links, "{line}");
        }
        for line in ["a.h a.c", "-x c a.h", "-x c-header a.h -x none a.c", "-include a.h a.c"] {
            assert!(check(line).unwrap().links, "{line}");
        }
    }

    #[test]
    fn static_links_are_refused_with_the_reason() {
        for line in ["-static a.c", "a.o -static-pie", "--static a.c"] {
            assert!(refused(line).contains("cannot be taken over"), "{line}");
        }
        check("-static -c a.c").unwrap();
        check("a.c -Wl,-Bstatic -lz -Wl,-Bdynamic").unwrap();
        check("-o -static a.c").unwrap();
    }

    #[test]
    fn response_files_are_looked_into() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("rsp");
        let line = format!("a.c @{}", file.display());
        std::fs::write(&file, "-O2 '-static'").unwrap();
        assert!(refused(&line).starts_with("-static: "));
        std::fs::write(&file, "-fsanitize=thread").unwrap();
        assert!(refused(&line).contains("in a response file"));
        std::fs::write(&file, "-c").unwrap();
        assert!(!check(&line).unwrap().links);
    }

    #[test]
    fn thread_sanitizer_is_dropped_and_others_are_refused() {
        assert_eq!(check("-fsanitize=thread a.c").unwrap().cleaned, ["a.c"]);
        assert_eq!(check("-fsanitize=undefined,thread a.c").unwrap().cleaned, ["-fsanitize=undefined", "a.c"]);
        assert!(refused("-fsanitize=undefined,address a.c").starts_with("-fsanitize=address cannot"));
        assert!(refused("-c -fsanitize=leak a.c").starts_with("-fsanitize=leak cannot"));
        assert!(refused("-m32 -c a.c").starts_with("-m32: "));
        assert!(refused("-target arm64-apple-darwin -c a.c").starts_with("-target arm64-apple-darwin: "));
        for line in ["-emit-llvm -c a.c", "-S -Xclang -emit-llvm a.c"] {
            assert!(refused(line).starts_with("-emit-llvm: "), "{line}");
        }
        check("--target=x86_64-linux-gnu -target x86_64 -Xclang -static a.c").unwrap();
        assert!(refused("-masm=intel -c a.c").starts_with("-masm=intel: "));
    }
}
