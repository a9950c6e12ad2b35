// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input files, which users and recordings name: any of them may be a pipe, a device, a directory or far too large.
//!
//! std's readers wait for ever on a pipe without a writer, and read `/dev/zero` until memory is used up.
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// How long a pipe may be silent.
const SILENCE_MILLIS: i32 = 3000;

/// What a file or a pipe holds, such as a shell's `<(command)`, if it is not more than `most` bytes.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let (file, meta) = open(path.as_ref())?;
    let bytes = match meta.file_type() {
        kind if kind.is_fifo() => from_pipe(&file, most)?,
        _ => regular(&file, &meta, most)?,
    };
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

/// What a regular file holds, if it is not more than `most` bytes. Pipes are refused.
pub fn read_regular(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let (file, meta) = open(path.as_ref())?;
    regular(&file, &meta, most)
}

/// A regular file, opened, for those who read parts of it.
pub fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    let (file, meta) = open(path.as_ref())?;
    regular_kind(&meta)?;
    Ok(file)
}

/// [`read`], as text.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Does not wait for a pipe's writer.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let meta = file.metadata()?;
    Ok((file, meta))
}

fn regular(mut file: &File, meta: &Metadata, most: u64) -> io::Result<Vec<u8>> {
    regular_kind(meta)?;
    if meta.len() > most {
        return Err(too_large(most));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve(meta.len() as usize).map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
    // Files of /proc have no length, and others may grow meanwhile.
    file.by_ref().take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn regular_kind(meta: &Metadata) -> io::Result<()> {
    let kind = meta.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {what}, not a file")))
}

fn from_pipe(mut file: &File, most: u64) -> io::Result<Vec<u8>> {
    let (mut all, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    while all.len() as u64 <= most {
        let mut polled = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live pollfd.
        match unsafe { libc::poll(&mut polled, 1, SILENCE_MILLIS) } {
            0 => return Err(io::Error::new(ErrorKind::TimedOut, "it is a pipe, and nothing comes from it")),
            -1 if io::Error::last_os_error().kind() != ErrorKind::Interrupted => return Err(io::Error::last_os_error()),
            _ => {}
        }
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(bytes) => all.extend_from_slice(&piece[..bytes]),
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(all)
}

fn too_large(most: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn fifo(path: &Path) {
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a terminated string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    }

    #[test]
    fn files_are_read_up_to_their_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read_regular(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().to_string(), "it has more than 4 bytes");
        File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read(&path, 1 << 30).is_err());
        assert!(read(Path::new("/proc/self/stat"), 1 << 20).unwrap().len() > 9);
    }

    #[test]
    fn what_is_no_file_is_told_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        fifo(&pipe);
        let begun = Instant::now();
        for (path, what) in [(Path::new("/dev/zero"), "a device"), (dir.path(), "a directory"), (&pipe, "a pipe")] {
            assert_eq!(read_regular(path, 9).unwrap_err().to_string(), format!("it is {what}, not a file"));
        }
        assert!(read(Path::new("/dev/zero"), 9).is_err() && read(dir.path(), 9).is_err());
        assert!(begun.elapsed() < Duration::from_secs(1));
        assert!(read(&pipe, 9).unwrap_err().to_string().contains("nothing comes from it"));
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        fifo(&pipe);
        let write = |bytes: usize| {
            let pipe = pipe.clone();
            // The writer waits for the reader; where that gives up, writing fails.
            std::thread::spawn(move || drop(std::fs::write(pipe, vec![7; bytes])))
        };
        write(1 << 20);
        assert_eq!(read(&pipe, 1 << 20).unwrap().len(), 1 << 20);
        write(1 << 20);
        assert_eq!(read(&pipe, 1000).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
