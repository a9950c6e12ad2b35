// SPDX-License-Identifier: MIT OR Apache-2.0
//! A directory of one test's own, with a runtime that simulates nothing, and the command run in it.
#![allow(dead_code, reason = "each test program uses a part")]
pub mod ended;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub struct Place {
    dir: tempfile::TempDir,
}

/// What a command printed and how it ended.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    /// The directory has a blank in its name: paths travel through specs files and linkers.
    pub fn new() -> Place {
        let place = Place { dir: tempfile::Builder::new().prefix("corefold test ").tempdir().unwrap() };
        let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/stub.c");
        fs::create_dir(place.path("lib")).unwrap();
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-fPIC", "-Wl,-soname,libcorefold_rt.so", "-o"]).arg(place.runtime()).arg(stub);
        assert!(gcc.status().unwrap().success());
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn runtime(&self) -> PathBuf {
        self.path("lib/libcorefold_rt.so")
    }

    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Any command, in the directory, with the stub runtime and a cache of the test's own.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        ended::with_usual_signals(&mut command);
        command.current_dir(self.dir.path()).env("COREFOLD_RUNTIME", self.runtime());
        command.env("XDG_CACHE_HOME", self.path("cache")).env_remove("COREFOLD_CC").env_remove("COREFOLD_CXX");
        // cargo's own, which would lead programs to the real runtime.
        command.env_remove("LD_LIBRARY_PATH");
        command
    }

    /// `corefold` with the words of a line.
    pub fn corefold(&self, line: &str) -> Said {
        said(self.command(corefold()).args(line.split_whitespace()))
    }

    /// Compiles and links a C program for simulation, as `name`.
    pub fn build(&self, name: &str, source: &str) {
        self.file(&format!("{name}.c"), source);
        let built = self.corefold(&format!("cc -O1 -pthread -o {name} {name}.c"));
        assert_eq!((built.code, built.err.as_str()), (Some(0), ""), "{}", built.err);
    }

    pub fn sh(&self, script: &str) -> Said {
        said(self.command("sh").args(["-ec", script]))
    }
}

pub fn corefold() -> &'static str {
    env!("CARGO_BIN_EXE_corefold")
}

pub fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = ended::output(command.stdin(std::process::Stdio::null()));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// The program runs natively, has hooks, needs our runtime and not TSan's.
#[track_caller]
pub fn is_ours(place: &Place, name: &str) {
    assert_eq!(place.sh(&format!("./{name}")).out, "1\n");
    let needed = place.sh(&format!("readelf -d {name} | grep NEEDED")).out;
    assert!(needed.contains("libcorefold_rt.so") && !needed.contains("tsan"), "{needed}");
    let symbols = place.sh(&format!("readelf -W --dyn-syms {name}")).out;
    // Assembly that the user has gcc write out keeps its calls; what gcc assembles itself is inlined.
    let blocks = ["corefold_block_unknown", "__sanitizer_cov_trace_pc"].iter().any(|hook| symbols.contains(hook));
    assert!(symbols.contains("__tsan_atomic32_fetch_add") && blocks, "{symbols}");
}
