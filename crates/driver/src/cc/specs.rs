// SPDX-License-Identifier: MIT OR Apache-2.0
//! The specs file that makes gcc compile the hooks in and link the runtime, and the header.
use super::assembler::{ASSEMBLE, OF_ANYBODY};
use super::installed::{self, File};
use anyhow::Result;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What is appended to the options of the compiler proper, after the user's:
/// - the hooks of memory accesses and of basic blocks;
/// - `-g`, which raises the level to 2 and leaves 3 alone;
/// - `-fno-lto`, since link-time optimisation would drop the hooks;
/// - `-Wno-tsan`: gcc warns that TSan ignores fences. The simulator does not;
/// - no `__SANITIZE_THREAD__`: a program should take the paths that it takes in production.
const COMPILE: &str = "-fsanitize=thread -fsanitize-coverage=trace-pc -g -fno-lto -Wno-tsan -U__SANITIZE_THREAD__";

pub struct Files {
    pub specs: PathBuf,
    /// Directory of `corefold.h`.
    pub include: PathBuf,
    /// Directory of the `as` that gcc calls for files of assembly.
    pub tools: PathBuf,
}

pub fn install(own: &Path, runtime: Option<&Path>) -> Result<Files> {
    let specs = File { name: "corefold.specs", content: text(own, runtime), runs: false };
    let assembler = File { name: "tools/as", content: installed::assembler(own, OF_ANYBODY), runs: true };
    let directory = installed::install(&[specs, assembler, installed::header()])?;
    Ok(Files {
        specs: directory.join("corefold.specs"),
        include: directory.join("include"),
        tools: directory.join("tools/"),
    })
}

fn text(own: &Path, runtime: Option<&Path>) -> Vec<u8> {
    let mut text = format!("*cc1_options:\n+ {COMPILE}\n\n").into_bytes();
    // As gcc has it, but that this program stands where `as` stood: it filters and then runs that.
    text.extend(b"*invoke_as:\n%{!fwpa*:   %{fcompare-debug=*|fdump-final-insns=*:%:compare-debug-dump-opt()}   ");
    text.extend(b"%{!S:-o %|.s |\n ");
    quote(own.as_os_str(), &mut text);
    text.extend(format!(" {ASSEMBLE} %(asm_options) %m.s %A }}  }}\n\n").bytes());
    if let Some(runtime) = runtime {
        let directory = runtime.parent().unwrap_or(Path::new("/"));
        // Not in `*lib:`, which -nostdlib leaves out; not for -r, which takes no shared library.
        text.extend(b"*link:\n+ %{!r:--push-state --no-as-needed ");
        quote(runtime.as_os_str(), &mut text);
        text.extend(b" --pop-state -rpath ");
        quote(directory.as_os_str(), &mut text);
        text.extend(b"}\n\n");
    }
    text
}

/// A path as specs have it: what could mean something there stands behind a backslash.
fn quote(path: &OsStr, text: &mut Vec<u8>) {
    for &byte in path.as_bytes() {
        if !byte.is_ascii_alphanumeric() && byte.is_ascii() && !b"/._-".contains(&byte) {
            text.push(b'\\');
        }
        text.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted() {
        let text = String::from_utf8(text(Path::new("/c"), Some(Path::new("/a b/100%/librt.so")))).unwrap();
        assert!(text.contains(r" /a\ b/100\%/librt.so --pop-state -rpath /a\ b/100\%}"), "{text}");
        assert!(text.ends_with("}\n\n"), "gcc wants an empty line at the end");
    }

    #[test]
    fn without_a_runtime_there_is_nothing_to_link() {
        assert!(!String::from_utf8(text(Path::new("/c"), None)).unwrap().contains("*link"));
    }
}
