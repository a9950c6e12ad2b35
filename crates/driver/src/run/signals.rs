// SPDX-License-Identifier: MIT OR Apache-2.0
//! Being interrupted without leaving children behind.
//!
//! The handler writes to a pipe that nobody reads: from then on it is readable, so every thread that
//! polls it wakes up and stops its child. A second signal of the same kind ends corefold at once, and
//! the kernel the children with it.
use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Asks a run to end.
pub const END: i32 = libc::SIGTERM;

/// To remove a directory, 10 ms apart.
const TRIES: u32 = 100;

const WATCHED: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Makes what a process inherits of signals what the command relies on, whoever started it. With SIGCHLD ignored,
/// the kernel throws away how children ended; with a signal blocked, nothing can interrupt.
/// SIGINT, SIGTERM and SIGHUP stay ignored if they are: that is how `nohup` and shells ask for it.
pub fn settle() {
    // SAFETY: SIG_DFL is valid for SIGCHLD; the set is initialised by sigemptyset before it is used.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

/// A file that may not grow further (`ulimit -f`) is an error of writing it, as a full disk is.
pub fn ignore_file_limit() {
    // SAFETY: SIG_IGN is valid for SIGXFSZ.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Gives a child that is about to start a program the usual action of every signal: what it ignored would be
/// inherited, and the program would behave as the command was started. To be called between fork and exec.
pub fn restore_in_child() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: SIG_DFL is a valid action; for a number that has none the call does nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Has the kernel send `signal` to the command when the thread that starts it ends, however it does.
pub fn end_with_us(command: &mut std::process::Command, signal: i32) {
    let parent = std::process::id();
    // SAFETY: the closure only makes system calls, which is what may be done between fork and exec.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, signal) == -1 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid() as u32 != parent {
                // Our parent died before it was asked to take us along.
                libc::_exit(1);
            }
            Ok(())
        });
    }
}

/// What the handler writes to. The descriptor is never closed, so it never comes to mean another file.
static PIPE: AtomicI32 = AtomicI32::new(-1);
static CAUGHT: AtomicI32 = AtomicI32::new(0);

pub struct Interrupts {
    pipe: PipeReader,
}

impl Interrupts {
    pub fn install() -> io::Result<Interrupts> {
        let (pipe, writer) = io::pipe()?;
        CAUGHT.store(0, Ordering::SeqCst);
        PIPE.store(writer.into_raw_fd(), Ordering::SeqCst);
        for signal in WATCHED {
            handle(signal)?;
        }
        Ok(Interrupts { pipe })
    }

    /// Readable as soon as a signal was caught.
    pub fn descriptor(&self) -> RawFd {
        self.pipe.as_raw_fd()
    }

    pub fn caught(&self) -> Option<i32> {
        Some(CAUGHT.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }
}

impl Drop for Interrupts {
    /// What comes after the runs needs no care: a signal ends it as it ends any program.
    fn drop(&mut self) {
        for signal in WATCHED {
            // SAFETY: SIG_DFL is a valid disposition for each of these.
            unsafe {
                if libc::signal(signal, libc::SIG_DFL) == libc::SIG_IGN {
                    libc::signal(signal, libc::SIG_IGN);
                }
            }
        }
    }
}

/// Has a signal that ends the command remove the directory first. Children are to end by [`end_with_us`].
pub fn remove_when_ended(directory: &Path) -> io::Result<()> {
    let mut interrupts = Interrupts::install()?;
    let directory = directory.to_owned();
    std::thread::Builder::new().spawn(move || {
        let read = interrupts.pipe.read_exact(&mut [0]);
        let Some(signal) = read.ok().and_then(|()| interrupts.caught()) else { return };
        // While children still write to it, removing it may fail.
        for _ in 0..TRIES {
            if fs::remove_dir_all(&directory).is_ok() || !directory.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // SAFETY: the signal's action is the usual one again (SA_RESETHAND), so this ends the command.
        unsafe { libc::kill(libc::getpid(), signal) };
    })?;
    Ok(())
}

fn handle(signal: i32) -> io::Result<()> {
    // SAFETY: `action` is fully initialised (zero is a valid sigaction), and `on_signal` does only
    // what a signal handler may.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut before);
        if before.sa_sigaction == libc::SIG_IGN {
            return Ok(()); // nohup
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        match libc::sigaction(signal, &action, std::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

extern "C" fn on_signal(signal: i32) {
    CAUGHT.store(signal, Ordering::SeqCst);
    let byte = 0u8;
    // SAFETY: write may be called here; it reads one byte, and the descriptor is never closed.
    unsafe { libc::write(PIPE.load(Ordering::SeqCst), (&raw const byte).cast(), 1) };
}
