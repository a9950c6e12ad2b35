// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing the recording: whole or not at all, and the one before it is kept.
use crate::exit::bad_input;
use anyhow::{Context, Result};
use corefold_recording::Run;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file for results, looked at before anything is simulated: a place that cannot be written should be said at
/// once, not after an hour. It is written whole or not at all: what was there stays if the disk is full.
pub struct Output {
    /// What is written, for messages.
    what: &'static str,
    path: PathBuf,
    /// `path` is a pipe or a device, which must not be replaced.
    direct: Option<fs::File>,
}

impl Output {
    pub fn create(path: &Path, what: &'static str) -> Result<Output> {
        let shown = path.display();
        let cannot = |e: std::io::Error| bad_input!("cannot write {what} {shown}: {e}");
        // Names of what is open already: a rename would replace what they stand for.
        let stands_for_open = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/proc"]
            .iter()
            .any(|place| path.starts_with(place));
        // Through a link to the file itself, so that the rename does not replace the link.
        let path = path.canonicalize().ok().filter(|_| !stands_for_open).unwrap_or_else(|| path.to_path_buf());
        let directory = directory(&path);
        if !directory.exists() {
            return Err(bad_input!(
                "cannot write {what} {shown}: the directory {} does not exist",
                directory.display()
            ));
        }
        let direct = match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => return Err(bad_input!("{} is a directory", path.display())),
            Ok(meta) if !meta.is_file() || stands_for_open => Some(open_now(&path).map_err(cannot)?),
            _ => {
                beside(directory).map_err(|e| cannot(without_name(&e)))?;
                None
            }
        };
        Ok(Output { what, path, direct })
    }

    pub fn write(self, bytes: &[u8]) -> Result<()> {
        self.put(bytes, |_| Ok(()))
    }

    /// `keep` may save what is there, once nothing but the rename is left to be done.
    fn put(self, bytes: &[u8], keep: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
        let Output { what, path, direct } = self;
        let written = match direct {
            Some(mut file) => file.write_all(bytes),
            None => replace(&path, bytes, keep),
        };
        written.with_context(|| format!("cannot write {what} {} ({} bytes)", path.display(), bytes.len()))
    }
}

/// Through a new file beside the old one, renamed over it in the end.
fn replace(path: &Path, bytes: &[u8], keep: impl FnOnce(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut file = beside(directory(path)).map_err(|e| without_name(&e))?;
    file.write_all(bytes)?;
    keep(path)?;
    Ok(file.persist(path).map(drop)?)
}

/// Opens what is there. A pipe that nobody reads is an error, where the kernel would wait for a reader.
fn open_now(path: &Path) -> std::io::Result<fs::File> {
    let file = fs::File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(|e| {
        let nobody = e.raw_os_error() == Some(libc::ENXIO);
        if nobody { std::io::Error::other("it is a pipe that nobody reads") } else { e }
    })?;
    // SAFETY: the descriptor is open; both calls touch no memory of ours.
    unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK);
    }
    Ok(file)
}

/// The recording's file; the recording before it is kept.
pub struct Recording(Output);

impl Recording {
    pub fn create(path: &Path) -> Result<Recording> {
        Output::create(path, "the recording").map(Recording)
    }

    pub fn write(self, runs: &[Run]) -> Result<()> {
        self.0.put(&corefold_recording::encode(runs), keep)
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

/// No recording is so large.
const MOST_BYTES: u64 = 4 << 30;

/// Reads a recording.
pub fn load(path: &Path) -> Result<Vec<Run>> {
    let bytes =
        corefold_files::read(path, MOST_BYTES).map_err(|e| bad_input!("cannot read {}: {e}", path.display()))?;
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
    fn a_document_is_replaced_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        for text in ["first", "second"] {
            let output = Output::create(&path, "the document").unwrap();
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), usize::from(text == "second"));
            output.write(text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_said_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a terminated string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let error = Output::create(&path, "the document").err().unwrap();
        assert!(error.to_string().ends_with("pipe that nobody reads"), "{error}");
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
