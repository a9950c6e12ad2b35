// SPDX-License-Identifier: MIT OR Apache-2.0
//! A directory of one test's own, and commands run in it.
use super::{Program, corefold, ended};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Place(tempfile::TempDir);

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Place {
        Place(tempfile::Builder::new().prefix("corefold-e2e-").tempdir().unwrap())
    }

    pub fn directory(&self) -> &Path {
        self.0.path()
    }

    /// It stays when the test has ended.
    pub fn keep(&mut self) {
        self.0.disable_cleanup(true);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it lies in the place")).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// `corefold`, here, with the words of a line.
    pub fn corefold(&self, line: &str) -> Said {
        said(self.command(corefold()).args(line.split_whitespace()))
    }

    /// A script, here, in which `$corefold` is the command.
    pub fn sh(&self, script: &str) -> Said {
        said(self.command("sh").args(["-ec", script]).env("corefold", corefold()))
    }

    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory());
        command
    }
}

pub fn said(command: &mut Command) -> Said {
    let output = ended::output(ended::with_usual_signals(command.stdin(Stdio::null())));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// What a program prints by itself; it must end well.
pub fn printed_natively(program: &Program, args: &str) -> String {
    let told = said(Command::new(program).args(args.split_whitespace()));
    assert_eq!(told.code, Some(0), "{}", told.err);
    told.out
}
