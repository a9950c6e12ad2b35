// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing the recording: whole or not at all, and the one before it is kept.
use crate::exit::bad_input;
use anyhow::{Context, Result};
use corefold_recording::Run;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The recording's file, opened before anything is simulated: a place that cannot be written should
/// be said at once, not after an hour.
pub struct Recording {
    path: PathBuf,
    to: Target,
}

enum Target {
    /// A new file beside `path`, renamed over it in the end.
    Beside(NamedTempFile),
    /// `path` is a pipe or a device, which must not be replaced.
    Direct(fs::File),
}

impl Recording {
    pub fn create(path: &Path) -> Result<Recording> {
        let cannot = |e: std::io::Error| bad_input!("cannot write the recording {}: {e}", path.display());
        // Through a link to the file itself, so that the rename does not replace the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let directory = directory(&path);
        if !directory.exists() {
            let (shown, place) = (path.display(), directory.display());
            return Err(bad_input!("cannot write the recording {shown}: the directory {place} does not exist"));
        }
        let to = match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                return Err(bad_input!("{} is a directory", path.display()));
            }
            Ok(meta) if !meta.is_file() => Target::Direct(fs::File::options().write(true).open(&path).map_err(cannot)?),
            _ => Target::Beside(beside(directory).map_err(|e| cannot(without_name(&e)))?),
        };
        Ok(Recording { path, to })
    }

    pub fn write(self, runs: &[Run]) -> Result<()> {
        let bytes = corefold_recording::encode(runs);
        let path = self.path;
        let written = match self.to {
            Target::Direct(mut file) => file.write_all(&bytes),
            Target::Beside(mut file) => file.write_all(&bytes).and_then(|()| file.flush()).and_then(|()| {
                keep(&path)?;
                Ok(file.persist(&path).map(drop)?)
            }),
        };
        written.with_context(|| format!("cannot write the recording {} ({} bytes)", path.display(), bytes.len()))
    }
}

/// A recording that is already there moves to `….old`, as `perf record` has it.
fn keep(path: &Path) -> std::io::Result<()> {
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    match fs::metadata(path) {
        Ok(there) if there.len() > 0 => fs::rename(path, old),
        _ => Ok(()),
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The error without the temporary file's name, which nobody asked for.
fn without_name(error: &std::io::Error) -> std::io::Error {
    error.kind().into()
}

fn beside(directory: &Path) -> std::io::Result<NamedTempFile> {
    // As any other new file: what the umask leaves.
    tempfile::Builder::new().prefix(".corefold-").permissions(Permissions::from_mode(0o666)).tempfile_in(directory)
}

/// Reads a recording.
pub fn load(path: &Path) -> Result<Vec<Run>> {
    let bytes = fs::read(path).map_err(|e| bad_input!("cannot read {}: {e}", path.display()))?;
    match corefold_recording::decode(&bytes) {
        Ok(runs) => Ok(runs),
        Err(e) => Err(bad_input!("{}: {e}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    fn runs() -> Vec<Run> {
        vec![Run { cpus: 1, ..Run::default() }, Run { cpus: 80, ..Run::default() }]
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.rec");
        for old in ["an older recording", "the first"] {
            fs::write(&path, old).unwrap();
            Recording::create(&path).unwrap().write(&runs()).unwrap();
            assert_eq!(load(&path).unwrap(), runs());
            assert_eq!(fs::read_to_string(dir.path().join("a.rec.old")).unwrap(), old);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn a_recording_given_up_leaves_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.rec");
        fs::write(&path, "an older recording").unwrap();
        drop(Recording::create(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"an older recording");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        Recording::create(&link).unwrap().write(&runs()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(load(&real).unwrap(), runs());
    }

    #[test]
    fn a_full_disk_is_said() {
        let said = format!("{:#}", Recording::create(Path::new("/dev/full")).unwrap().write(&runs()).unwrap_err());
        assert!(said.starts_with("cannot write the recording /dev/full") && said.contains("No space left"), "{said}");
        assert!(Path::new("/dev/full").exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_said_before_the_run() {
        let error = Recording::create(Path::new("/no/such/directory/a.rec")).err().unwrap();
        assert_eq!(exit::of_error(&error), exit::BAD_INPUT);
        assert_eq!(
            error.to_string(),
            "cannot write the recording /no/such/directory/a.rec: the directory /no/such/directory does not exist"
        );
        let error = Recording::create(Path::new("/")).err().unwrap();
        assert_eq!(error.to_string(), "/ is a directory");
    }

    #[test]
    fn bad_recordings_are_bad_input() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.rec");
        assert_eq!(exit::of_error(&load(&path).unwrap_err()), exit::BAD_INPUT);
        fs::write(&path, "text").unwrap();
        assert_eq!(exit::of_error(&load(&path).unwrap_err()), exit::BAD_INPUT);
        fs::write(&path, &corefold_recording::encode(&runs())[..20]).unwrap();
        assert_eq!(exit::of_error(&load(&path).unwrap_err()), exit::BAD_INPUT);
    }
}
