// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the kernel keeps a child's running thread, if the runtime does not wait there itself: a call that
//! went past it blocks all simulated threads.
use corefold_launch::RUNTIME;
use std::fs;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    number: i64,
    stack_pointer: u64,
    /// Behind the instruction that made the call.
    pc: u64,
    /// The file that it stands in; empty for memory that no file is mapped to.
    file: String,
    /// Of the instruction, in the file as it is mapped.
    offset: u64,
}

impl Blocked {
    /// Can only the program's own threads end this wait, or is it made by an instruction that the runtime
    /// does not know of?
    pub fn is_for_ever(&self) -> bool {
        self.number == libc::SYS_futex
    }

    fn is_libc(&self) -> bool {
        self.file.starts_with("libc.so") || self.file.starts_with("libc-")
    }

    /// Is it something that cannot be simulated? Of libc's functions, a few wait for the world outside.
    pub fn is_unsupported(&self) -> bool {
        self.is_for_ever() || !self.is_libc()
    }

    /// `all threads are blocked in the system call futex, made by libfoo.so+0x123`.
    pub fn words(&self) -> String {
        let by = match self.file.as_str() {
            "" => format!("code generated at run time, at {:#x},", self.pc),
            file => format!("{file}+{:#x}", self.offset),
        };
        format!("all threads are blocked in the system call {}, which {by} made without the runtime", name(self.number))
    }
}

fn name(number: i64) -> String {
    const NAMES: [(i64, &str); 16] = [
        (libc::SYS_futex, "futex"),
        (libc::SYS_read, "read"),
        (libc::SYS_write, "write"),
        (libc::SYS_poll, "poll"),
        (libc::SYS_ppoll, "ppoll"),
        (libc::SYS_select, "select"),
        (libc::SYS_pselect6, "pselect6"),
        (libc::SYS_epoll_wait, "epoll_wait"),
        (libc::SYS_epoll_pwait, "epoll_pwait"),
        (libc::SYS_nanosleep, "nanosleep"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep"),
        (libc::SYS_wait4, "wait4"),
        (libc::SYS_accept, "accept"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_pause, "pause"),
        (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
    ];
    let known = NAMES.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("number {number}"), |(_, name)| (*name).into())
}

/// What the process's first thread, which runs all simulated ones, is blocked in. None if it runs, if the
/// runtime waits, or if the kernel does not say.
pub fn look(pid: i32) -> Option<Blocked> {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let (number, stack_pointer, pc) = parts(&call)?;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let (file, offset) = place(&maps, pc);
    (file != RUNTIME).then_some(Blocked { number, stack_pointer, pc, file, offset })
}

/// The call's number, the stack pointer and the instruction pointer of `/proc/PID/syscall`.
fn parts(line: &str) -> Option<(i64, u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let hex = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    match words.as_slice() {
        // No call: `running`, or a number below zero.
        [number, .., sp, pc] => Some((number.parse().ok().filter(|number| *number >= 0)?, hex(sp)?, hex(pc)?)),
        _ => None,
    }
}

/// The name of the file that is mapped at an address, and how far that is from where the file begins.
fn place(maps: &str, pc: u64) -> (String, u64) {
    let mapping = |line: &str| {
        let mut words = line.split_whitespace();
        let (begin, end) = words.next()?.split_once('-')?;
        let path = words.nth(4).unwrap_or("").to_owned();
        Some((u64::from_str_radix(begin, 16).ok()?, u64::from_str_radix(end, 16).ok()?, path))
    };
    let all: Vec<(u64, u64, String)> = maps.lines().filter_map(mapping).collect();
    let path = all.iter().find(|(begin, end, _)| (*begin..*end).contains(&pc)).map_or("", |(_, _, path)| path);
    let begin = all.iter().filter(|(.., other)| !path.is_empty() && other == path).map(|(begin, ..)| *begin).min();
    (path.rsplit('/').next().unwrap_or_default().to_owned(), begin.map_or(0, |begin| pc - begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55550000-55551000 r--p 00000000 fe:00 1 /tmp/a.out
7f0000-7f1000 r--p 00000000 fe:00 2 /lib/libfoo.so.1
7f1000-7f3000 r-xp 00001000 fe:00 2 /lib/libfoo.so.1
800000-801000 rwxp 00000000 00:00 0
";

    #[test]
    fn a_blocked_call_is_told_by_its_place() {
        assert_eq!(parts("202 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffe0 0x7f1ee4\n"), Some((202, 0x7ffe0, 0x7f1ee4)));
        assert_eq!(parts("running\n"), None);
        assert_eq!(parts("-1 0x7ffe0 0x7f1ee4\n"), None);
        assert_eq!(place(MAPS, 0x7f1ee4), ("libfoo.so.1".into(), 0x1ee4));
        assert_eq!(place(MAPS, 0x800010), (String::new(), 0));
        let blocked =
            Blocked { number: 202, stack_pointer: 0, pc: 0x7f1ee4, file: "libfoo.so.1".into(), offset: 0x1ee4 };
        assert!(blocked.words().ends_with("system call futex, which libfoo.so.1+0x1ee4 made without the runtime"));
    }
}
