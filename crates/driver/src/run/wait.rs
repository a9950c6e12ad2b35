// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a child, but not for ever.
use super::blocked::{self, Blocked};
use super::child::Started;
use super::signals::Interrupts;
use anyhow::{Context, Result};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long a child that was asked to end may take to write what it has, and a part of its run's time beside that: what it
/// has can be the larger the longer it ran.
const GRACE: Duration = Duration::from_secs(3);
const PART: u32 = 10;
/// How often a child is looked at that has no other end in sight, and how many looks in a row must find it in
/// the same wait for threads of its own before it is given up.
const LOOK: Duration = Duration::from_secs(1);
const LOOKS: usize = 3;

#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stopped: Option<Stopped>,
    /// What blocked it in the kernel when we did.
    pub blocked: Option<Blocked>,
}

/// Why we ended a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    Timeout,
    Interrupt,
    /// Nothing will ever happen in it.
    Stuck,
}

/// Waits for the child's end. At the timeout or a signal to us it is asked to end, which lets the
/// engine write its recording; after its [`GRACE`] it is killed. Nothing of its group is left behind.
pub fn wait(started: &mut Started, timeout: Option<Duration>, interrupts: &Interrupts) -> Result<Ended> {
    let pid = started.child.id() as i32;
    let end = pidfd(pid);
    let stopped = match &end {
        Ok(end) => watch(started, end.as_raw_fd(), timeout, interrupts),
        Err(_) => Ok((None, None)),
    };
    if end.is_err() || stopped.is_err() {
        kill(started, libc::SIGKILL);
    } else if started.leads {
        // Processes that the program left: its own end is not yet collected, so the number is still its.
        kill(started, libc::SIGKILL);
    }
    let status = started.child.wait().context("cannot wait for the program")?;
    end.context("cannot watch the program (corefold needs Linux 5.3 or later)")?;
    let (stopped, blocked) = stopped.context("cannot watch the program")?;
    Ok(Ended { status, stopped, blocked })
}

fn watch(
    started: &Started,
    end: RawFd,
    timeout: Option<Duration>,
    interrupts: &Interrupts,
) -> io::Result<(Option<Stopped>, Option<Blocked>)> {
    let begun = Instant::now();
    let stopped = until_end(started, [end, interrupts.descriptor()], timeout)?;
    if stopped.is_none() {
        return Ok((None, None));
    }
    let blocked = blocked::look(started.child.id() as i32);
    kill(started, libc::SIGTERM);
    if poll([end], Some(GRACE + begun.elapsed() / PART))?.is_none() {
        kill(started, libc::SIGKILL);
        poll([end], None)?;
    }
    Ok((stopped, blocked))
}

/// Returns when the child ends (the first descriptor), or why it is to be ended.
fn until_end(started: &Started, ends: [RawFd; 2], timeout: Option<Duration>) -> io::Result<Option<Stopped>> {
    let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
    let (mut before, mut looks) = (None, 0);
    loop {
        let left = deadline.map_or(LOOK, |d| d.saturating_duration_since(Instant::now()));
        match poll(ends, Some(left.min(LOOK)))? {
            Some(0) => return Ok(None),
            Some(_) => return Ok(Some(Stopped::Interrupt)),
            None if left <= LOOK && deadline.is_some() => return Ok(Some(Stopped::Timeout)),
            None => {}
        }
        let now = blocked::look(started.child.id() as i32).filter(Blocked::is_for_ever);
        looks = if now.is_some() && now == before { looks + 1 } else { 0 };
        if looks + 1 == LOOKS {
            return Ok(Some(Stopped::Stuck));
        }
        before = now;
    }
}

/// Sends the signal to the child, and to what it started if it leads a group. The child has not been
/// waited for, so the number cannot mean another process.
fn kill(started: &Started, signal: i32) {
    let pid = started.child.id() as i32;
    // SAFETY: kill touches no memory of ours.
    unsafe { libc::kill(if started.leads { -pid } else { pid }, signal) };
}

/// A descriptor that becomes readable when the process ends.
fn pidfd(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: a system call that takes two numbers.
    match unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor is new and ours alone.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) }),
    }
}

/// The index of the first descriptor that is ready, or none if the time is over before that.
fn poll<const N: usize>(descriptors: [RawFd; N], timeout: Option<Duration>) -> io::Result<Option<usize>> {
    let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
    let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    loop {
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        // Rounded up, so as not to spin through the last millisecond.
        let millis = left.map_or(-1, |l| l.as_micros().div_ceil(1000).min(1_000_000_000) as i32);
        // SAFETY: the pointer and the length are those of a live array.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, millis) };
        match ready {
            0 if left.is_some_and(|l| l.is_zero()) => return Ok(None),
            -1 if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted => {
                return Err(io::Error::last_os_error());
            }
            -1 | 0 => {}
            _ => return Ok(polled.iter().position(|p| p.revents != 0)),
        }
    }
}
