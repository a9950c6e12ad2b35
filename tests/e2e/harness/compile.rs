// SPDX-License-Identifier: MIT OR Apache-2.0
//! Test programs, compiled once for a test run: with `corefold cc`, and by the compiler alone.
use super::{corefold, place::said, skipped};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

/// A compiled test program.
pub type Program = PathBuf;

const COMMON: &[&str] = &["-O2", "-g", "-Wall", "-pthread"];

/// The compilers that tests compile with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    Gcc,
    /// Of this version.
    Clang(&'static str),
}

impl Compiler {
    /// Those that are here. Without one, its part of a test is skipped.
    pub fn installed() -> impl Iterator<Item = Compiler> {
        [Compiler::Gcc, Compiler::Clang("14"), Compiler::Clang("19")].into_iter().filter(|compiler| {
            let found = Command::new(compiler.cxx()).arg("--version").output().is_ok();
            if !found {
                skipped(&format!("{} is not installed (scripts/setup.sh test installs it)", compiler.cxx()));
            }
            found
        })
    }

    /// What compiles C.
    pub fn cc(self) -> String {
        match self {
            Compiler::Gcc => "gcc".into(),
            Compiler::Clang(version) => format!("clang-{version}"),
        }
    }

    /// What compiles C++.
    pub fn cxx(self) -> String {
        match self {
            Compiler::Gcc => "g++".into(),
            Compiler::Clang(version) => format!("clang++-{version}"),
        }
    }

    /// A program of `tests/programs`, instrumented, with more options for the compiler.
    pub fn program(self, source: &str, options: &[&str]) -> Program {
        compiled(self, source, options, true)
    }
}

/// A program of `tests/programs`, instrumented.
pub fn program(source: &str) -> Program {
    compiled(Compiler::Gcc, source, &[], true)
}

/// The same, with more options for the compiler.
pub fn program_with(source: &str, options: &[&str]) -> Program {
    compiled(Compiler::Gcc, source, options, true)
}

/// The same as the compiler alone makes it.
pub fn native(source: &str) -> Program {
    compiled(Compiler::Gcc, source, &[], false)
}

/// The same, with more options for the compiler.
pub fn native_with(source: &str, options: &[&str]) -> Program {
    compiled(Compiler::Gcc, source, options, false)
}

/// Objects of sources that several programs share, instrumented; no two sources of one name.
pub fn objects(sources: &[String], options: &[&str]) -> Vec<String> {
    let directory = once(&format!("{} {}", options.join(" "), sources.join(" ")), |directory| {
        std::fs::create_dir(directory).unwrap();
        // Other tests may wait for these: at once, as far as the host can.
        let part = |sources: &[String]| {
            let mut command = Command::new(corefold());
            command.arg("cc").args(COMMON).args(options).arg("-c").args(sources).current_dir(directory);
            let compiled = said(&mut command);
            assert_eq!(compiled.code, Some(0), "{command:?}:\n{}", compiled.err);
        };
        let (first, second) = sources.split_at(sources.len() / 2);
        std::thread::scope(|scope| {
            let other = (!first.is_empty()).then(|| scope.spawn(|| part(first)));
            part(second);
            other.into_iter().for_each(|other| other.join().expect("the first half compiles"));
        });
    });
    let object = |source: &String| directory.join(Path::new(source).file_stem().unwrap()).with_extension("o");
    sources.iter().map(|source| object(source).display().to_string()).collect()
}

/// The sources in a directory of `tests/programs`, sorted.
pub fn programs(directory: &str) -> Vec<String> {
    let found = sources_in(&sources().join(directory));
    found.iter().map(|path| format!("{directory}/{}", path.rsplit('/').next().expect("a name"))).collect()
}

/// The sources in any directory, sorted.
pub fn sources_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let paths = entries.map(|e| e.unwrap().path().into_os_string().into_string().unwrap());
    let mut found: Vec<String> = paths.filter(|n| n.ends_with(".c") || n.ends_with(".cpp")).collect();
    found.sort();
    found
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

fn compiled(compiler: Compiler, source: &str, options: &[&str], instrumented: bool) -> Program {
    let form = if instrumented { format!("simulated {}", compiler.cc()) } else { "native".into() };
    // Options may hold whole paths, and a file's name must not be as long as these.
    let brief: Vec<&str> = options.iter().map(|option| option.rsplit('/').next().unwrap_or(option)).collect();
    let name = format!("{source} {} {form}", brief.join(" "));
    once(&name, |output| compile(compiler, source, options, instrumented, output))
}

/// What is made under this name, by the first test that asks for it; others wait for that.
fn once(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    type Made = Arc<OnceLock<PathBuf>>;
    static MADE: Mutex<Option<HashMap<String, Made>>> = Mutex::new(None);
    let name = name.replace(['/', ' '], "_");
    let slot = {
        let mut made = MADE.lock().unwrap_or_else(|e| e.into_inner());
        made.get_or_insert_default().entry(name.clone()).or_default().clone()
    };
    let path = slot.get_or_init(|| {
        let path = output().join(file_name(name));
        make(&path);
        path
    });
    path.clone()
}

/// No longer than file names may be.
fn file_name(name: String) -> String {
    if name.len() < 200 {
        return name;
    }
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let start: String = name.chars().take(40).collect();
    format!("{start}_{hash:016x}")
}

fn compile(compiler: Compiler, source: &str, options: &[&str], instrumented: bool, output: &Path) {
    let cxx = source.ends_with(".cpp");
    let mut command = match instrumented {
        true => Command::new(corefold()),
        false => Command::new(if cxx { "g++" } else { "gcc" }),
    };
    if instrumented {
        command.arg(if cxx { "c++" } else { "cc" });
        command.env("COREFOLD_CC", compiler.cc()).env("COREFOLD_CXX", compiler.cxx());
    } else {
        command.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/driver/include"));
    }
    command.args(COMMON).args(cxx.then_some("-std=c++20")).args(options);
    command.arg(source).arg("-o").arg(output).current_dir(sources());
    let compiled = said(&mut command);
    assert_eq!(compiled.code, Some(0), "{command:?}:\n{}", compiled.err);
}

/// Where programs of this test run are, until it ends.
pub fn output() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let directory = tempfile::Builder::new().prefix("corefold-e2e-").tempdir().unwrap().keep();
        // SAFETY: the function may be called at any time and never unwinds.
        unsafe { libc::atexit(remove) };
        directory
    })
}

extern "C" fn remove() {
    // Nothing can be done about what cannot be removed.
    let _ = std::fs::remove_dir_all(output());
}
