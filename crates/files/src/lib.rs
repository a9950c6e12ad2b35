// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input files, which users and recordings name: any of them may be a pipe, a device, a directory or far too large.
//!
//! std's readers wait for ever on a pipe without a writer, and read `/dev/zero` until memory is used up.
mod elf;

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
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

/// [`read_regular`], for those who do not look at an ELF file's debug information, which is most of it: there, zeros stand.
pub fn read_without_debug(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let (file, meta) = open(path.as_ref())?;
    let known = regular_kind(&meta).is_ok() && meta.len() <= most.min(MOST_IN_PARTS);
    match known.then(|| elf::debug_sections(&file)).flatten().map(|skipped| outside(&file, meta.len(), &skipped)) {
        Some(Ok(bytes)) => Ok(bytes),
        _ => read_regular(path, most),
    }
}

/// What is not read in parts is not allocated either before it is known how much can be.
const MOST_IN_PARTS: u64 = 1 << 30;

/// The file's `bytes`, without those in the `skipped` ranges.
fn outside(file: &File, bytes: u64, skipped: &[Range<u64>]) -> io::Result<Vec<u8>> {
    let mut all = vec![0; bytes as usize];
    let mut read = |range: Range<u64>| match range.is_empty() {
        true => Ok(()),
        false => file.read_exact_at(&mut all[range.start as usize..range.end as usize], range.start),
    };
    let mut at = 0;
    for range in skipped {
        read(at..range.start.min(bytes))?;
        at = at.max(range.end.min(bytes));
    }
    read(at..bytes)?;
    Ok(all)
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

    /// All else is as in the file, whether it is ELF or not.
    #[test]
    fn debug_information_can_be_left_out() {
        let own = std::env::current_exe().unwrap();
        let (whole, part) = (std::fs::read(&own).unwrap(), read_without_debug(&own, 1 << 30).unwrap());
        let skipped = elf::debug_sections(&File::open(&own).unwrap()).unwrap();
        assert!(skipped.iter().map(|range| range.end - range.start).sum::<u64>() > 1000);
        let mut expected = whole.clone();
        for range in skipped {
            expected[range.start as usize..range.end as usize].fill(0);
        }
        assert!(part == expected && part != whole);
        assert!(read_without_debug(&own, 99).is_err() && read_without_debug("/dev/zero", 99).is_err());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for contents in [b"12345".to_vec(), whole[..64].to_vec(), whole[..whole.len() - 9].to_vec()] {
            std::fs::write(&path, &contents).unwrap();
            assert_eq!(read_without_debug(&path, 1 << 30).unwrap(), contents);
        }
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
