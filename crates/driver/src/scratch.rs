// SPDX-License-Identifier: MIT OR Apache-2.0
//! Temporary directories. A command that is killed leaves its own behind, and the next one removes it.
//!
//! Whoever uses a directory holds a lock on it, which the kernel releases when the process ends, however it ends.
use crate::run::signals;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "corefold-run-";
/// A file in each: a directory that only has such a name is not ours to remove.
const MARK: &str = "corefold-scratch";

pub struct Scratch {
    directory: TempDir,
    /// Locked until the directory is removed.
    _lock: File,
}

impl Scratch {
    /// A new directory in `TMPDIR` (`/tmp`), after removing those that killed commands left there.
    pub fn new() -> Result<Scratch> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        let made = Scratch::new_in(&parent);
        made.with_context(|| format!("cannot make a directory in {} (set TMPDIR to use another)", parent.display()))
    }

    /// The same, for a command that watches no signals itself: one that ends the command removes the directory first.
    pub fn removed_when_ended() -> Result<Scratch> {
        let made = Scratch::new()?;
        signals::remove_when_ended(made.path()).context("cannot watch for signals")?;
        Ok(made)
    }

    fn new_in(parent: &Path) -> io::Result<Scratch> {
        loop {
            let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let lock = open(directory.path())?;
            // A sweep may have come between; then that has it, or has removed it.
            if lock.try_lock().is_ok() && is_at(&lock, directory.path()) {
                fs::write(directory.path().join(MARK), "")?;
                return Ok(Scratch { directory, _lock: lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn open(directory: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(directory)
}

/// Is what was opened still what the path means?
fn is_at(open: &File, path: &Path) -> bool {
    let same = |there: fs::Metadata| open.metadata().map(|m| (m.dev(), m.ino()) == (there.dev(), there.ino()));
    fs::symlink_metadata(path).and_then(same).unwrap_or(false)
}

/// Removes directories of this user's that nobody uses. What cannot be removed is left.
fn sweep(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    for directory in named.map(|entry| entry.path()) {
        let Ok(lock) = open(&directory) else { continue };
        // SAFETY: a system call without arguments.
        let user = unsafe { libc::geteuid() };
        let own = lock.metadata().is_ok_and(|m| m.uid() == user) && directory.join(MARK).is_file();
        if own && lock.try_lock().is_ok() && is_at(&lock, &directory) {
            let _ = fs::remove_dir_all(&directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_uses_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let used = Scratch::new_in(parent.path()).unwrap();
        let killed = Scratch::new_in(parent.path()).unwrap();
        let Scratch { directory, _lock: lock } = killed;
        let left = directory.keep();
        drop(lock); // as the kernel does
        let users = parent.path().join("corefold-run-results");
        fs::create_dir(&users).unwrap();
        fs::write(users.join("data"), "").unwrap();
        let link = parent.path().join("corefold-run-link");
        std::os::unix::fs::symlink(&users, &link).unwrap();
        sweep(parent.path());
        assert!(!left.exists());
        assert!(used.path().exists() && users.join("data").exists() && link.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
