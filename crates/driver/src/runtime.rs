// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the runtime library is.
use crate::exit::bad_input;
use anyhow::{Context, Result};
use corefold_launch::RUNTIME;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Environment variable that names the runtime library, instead of looking for it.
pub const VARIABLE: &str = "COREFOLD_RUNTIME";

/// The runtime of this command.
pub fn find() -> Result<PathBuf> {
    let executable = std::env::current_exe().context("finding corefold's own executable")?;
    of(&executable.canonicalize().unwrap_or(executable))
}

/// The runtime of a command: what [`VARIABLE`] names, else beside the executable, else in `../lib/corefold/`.
pub fn of(executable: &Path) -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|v| !v.is_empty()) {
        let path = PathBuf::from(named);
        if !path.is_file() {
            return Err(bad_input!("{VARIABLE} names {}, which is not a file", path.display()));
        }
        return path.canonicalize().context("finding the runtime");
    }
    beside(executable).ok_or_else(|| {
        bad_input!(
            "the runtime {RUNTIME} is neither beside {} nor in ../lib/corefold/: build it (`cargo build --release \
             -p corefold-engine`), or name it in {VARIABLE}",
            executable.display()
        )
    })
}

/// The linker's options for the runtime, whether or not anything calls it, and where to find it again.
pub fn linked(runtime: &Path) -> [&OsStr; 6] {
    let directory = runtime.parent().unwrap_or(Path::new("/"));
    [
        "--push-state".as_ref(),
        "--no-as-needed".as_ref(),
        runtime.as_ref(),
        "--pop-state".as_ref(),
        "-rpath".as_ref(),
        directory.as_ref(),
    ]
}

fn beside(executable: &Path) -> Option<PathBuf> {
    let directory = executable.parent()?;
    [directory.join(RUNTIME), directory.parent()?.join("lib/corefold").join(RUNTIME)].into_iter().find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_build_tree_goes_before_the_installed() {
        let root = tempfile::tempdir().unwrap();
        let (bin, lib) = (root.path().join("bin"), root.path().join("lib/corefold"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&lib).unwrap();
        assert_eq!(beside(&bin.join("corefold")), None);
        fs::write(lib.join(RUNTIME), "").unwrap();
        assert_eq!(beside(&bin.join("corefold")), Some(lib.join(RUNTIME)));
        fs::write(bin.join(RUNTIME), "").unwrap();
        assert_eq!(beside(&bin.join("corefold")), Some(bin.join(RUNTIME)));
    }
}
