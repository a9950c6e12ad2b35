// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls made directly, past every stand-in of ours and past libc's `errno`.
use core::arch::asm;

/// # Safety
/// The call must be one that is sound with these arguments.
#[inline]
pub unsafe fn syscall6(n: i64, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> i64 {
    let result;
    // SAFETY: the kernel's calling convention; clobbers as documented.
    unsafe {
        asm!("syscall", inlateout("rax") n => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _);
    }
    result
}

macro_rules! syscall {
    ($n:expr $(, $arg:expr)* ; $($zero:expr),*) => { $crate::sys::syscall6($n, $($arg as u64,)* $($zero),*) };
}

pub fn write(fd: i32, bytes: &[u8]) -> i64 {
    // SAFETY: the slice is readable.
    unsafe { syscall!(libc::SYS_write, fd, bytes.as_ptr(), bytes.len(); 0, 0, 0) }
}

/// Anonymous memory at exactly this address; false if it cannot be had.
pub fn map_at(address: u64, bytes: u64) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: FIXED_NOREPLACE does not touch existing mappings.
    let got = unsafe { syscall6(libc::SYS_mmap, address, bytes, protection as u64, flags as u64, u64::MAX, 0) };
    got as u64 == address
}

/// A hint: the kernel may have none, or not give any to this process.
pub fn prefer_huge_pages(address: u64, bytes: u64) {
    // SAFETY: the bytes stay what they are.
    unsafe { syscall!(libc::SYS_madvise, address, bytes, libc::MADV_HUGEPAGE; 0, 0, 0) };
}

/// Lets code run in memory of ours.
pub fn make_executable(address: u64, bytes: u64) {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: only called for mappings of our own.
    unsafe { syscall!(libc::SYS_mprotect, address, bytes, protection; 0, 0, 0) };
}

/// Changes what may be done with whole pages.
pub fn protect(address: u64, bytes: u64, protection: i32) -> bool {
    // SAFETY: only called for tables of the loader's, which stay readable, and for a page of ours that nothing uses.
    unsafe { syscall!(libc::SYS_mprotect, address, bytes, protection; 0, 0, 0) == 0 }
}

/// Gives the pages back; they read as zeroes afterwards.
pub fn drop_pages(address: u64, bytes: u64) {
    // SAFETY: only called for mappings of our own.
    unsafe { syscall!(libc::SYS_madvise, address, bytes, libc::MADV_DONTNEED; 0, 0, 0) };
}

pub fn futex_wait(word: *const u32, value: u32) {
    // SAFETY: the kernel checks the address.
    unsafe { syscall!(libc::SYS_futex, word, libc::FUTEX_WAIT, value; 0, 0, 0) };
}

pub fn futex_wake(word: *const u32) {
    // SAFETY: as above.
    unsafe { syscall!(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX; 0, 0, 0) };
}

/// The kernel's number of the calling thread.
pub fn thread_number() -> u32 {
    // SAFETY: no arguments.
    unsafe { syscall!(libc::SYS_gettid; 0, 0, 0, 0, 0, 0) as u32 }
}

/// Where the kernel clears the calling thread's number, and wakes whoever waits there, when the thread ends; 0 if it does
/// not say.
pub fn thread_number_at() -> u64 {
    let mut address = 0u64;
    // SAFETY: the kernel writes an address to the variable.
    let code = unsafe { syscall!(libc::SYS_prctl, libc::PR_GET_TID_ADDRESS, &raw mut address; 0, 0, 0, 0) };
    if code == 0 { address } else { 0 }
}

/// The process's ID, which the program sees another of (`process_id`).
pub fn process() -> libc::pid_t {
    // SAFETY: no arguments.
    unsafe { syscall!(libc::SYS_getpid; 0, 0, 0, 0, 0, 0) as libc::pid_t }
}

/// The parent's ID.
pub fn parent() -> libc::pid_t {
    // SAFETY: no arguments.
    unsafe { syscall!(libc::SYS_getppid; 0, 0, 0, 0, 0, 0) as libc::pid_t }
}

/// The calling thread blocks these signals from now on, a bit each. Returns what it blocked before.
pub fn block_signals(set: u64) -> u64 {
    const SIGNALS_BYTES: usize = 8;
    let mut before = 0u64;
    // SAFETY: both are the kernel's sets of signals.
    unsafe {
        syscall!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const set, &raw mut before, SIGNALS_BYTES; 0, 0)
    };
    before
}

/// Returns when the thread of that number has ended: the kernel clears `cleared_at` then, if that address is known.
pub fn await_thread_end(thread: u32, cleared_at: u64) {
    // SAFETY: the word is in the thread's block, which stays until the thread is joined.
    while cleared_at != 0 && unsafe { (cleared_at as *const u32).read_volatile() } == thread {
        futex_wait(cleared_at as *const u32, thread);
    }
    let process = process();
    // SAFETY: signal 0 only asks, and yielding has no preconditions.
    unsafe {
        while cleared_at == 0 && syscall!(libc::SYS_tgkill, process, thread, 0; 0, 0, 0) == 0 {
            syscall!(libc::SYS_sched_yield; 0, 0, 0, 0, 0, 0);
        }
    }
}

pub fn exit_group(code: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { syscall!(libc::SYS_exit_group, code; 0, 0, 0, 0, 0) };
    }
}

/// Opens a file; `path` must end in a zero byte.
pub fn open(path: &[u8], flags: i32, mode: u32) -> i64 {
    assert_eq!(path.last(), Some(&0));
    // SAFETY: a terminated string.
    unsafe { syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, mode; 0, 0) }
}

/// The path that a descriptor was opened by, as far as `path` has room for it.
pub fn path_of(fd: i32, path: &mut [u8]) -> Option<&[u8]> {
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0";
    let digits = fd.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = fd;
    for digit in (link.len() - 11..link.len() - 11 + digits).rev() {
        link[digit] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // SAFETY: a terminated string, and a buffer of this length.
    let bytes = unsafe { syscall!(libc::SYS_readlink, link.as_ptr(), path.as_mut_ptr(), path.len(); 0, 0, 0) };
    path.get(..usize::try_from(bytes).ok()?)
}

/// Is it a file, rather than a directory, a device, or a pipe?
pub fn is_regular(fd: i32) -> bool {
    // SAFETY: the kernel fills the structure.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        let code = syscall!(libc::SYS_fstat, fd, &raw mut status; 0, 0, 0, 0);
        code == 0 && status.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

pub fn read(fd: i32, into: &mut [u8]) -> i64 {
    // SAFETY: the slice is writable.
    unsafe { syscall!(libc::SYS_read, fd, into.as_mut_ptr(), into.len(); 0, 0, 0) }
}

pub fn close(fd: i32) {
    // SAFETY: only called for descriptors of our own.
    unsafe { syscall!(libc::SYS_close, fd; 0, 0, 0, 0, 0) };
}

/// How many of `fds` are ready, after waiting for up to so many milliseconds (-1: for ever).
pub fn poll(fds: &mut [libc::pollfd], timeout: i32) -> i64 {
    // SAFETY: the slice is writable.
    unsafe { syscall!(libc::SYS_poll, fds.as_mut_ptr(), fds.len(), timeout; 0, 0, 0) }
}

/// A whole file; `None` if it cannot be read.
pub fn read_file(path: &[u8]) -> Option<alloc::vec::Vec<u8>> {
    let fd = i32::try_from(open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0)).ok().filter(|fd| *fd >= 0)?;
    let mut all = alloc::vec::Vec::new();
    let mut piece = [0; 4096];
    loop {
        match read(fd, &mut piece) {
            n if n > 0 => all.extend_from_slice(&piece[..n as usize]),
            n => {
                close(fd);
                return (n == 0).then_some(all);
            }
        }
    }
}

/// Writes a whole file through a temporary name, so that a reader never sees half of it.
pub fn write_file(path: &[u8], bytes: &[u8]) -> Result<(), i64> {
    let fd = open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC, 0o644);
    if fd < 0 {
        return Err(-fd);
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        match write(fd as i32, rest) {
            n if n > 0 => rest = &rest[n as usize..],
            n if -n == i64::from(libc::EINTR) => {}
            n => {
                close(fd as i32);
                return Err(-n);
            }
        }
    }
    close(fd as i32);
    Ok(())
}

/// A file that may not grow further (`ulimit -f`) is an error of writing it, and does not end the process.
pub fn ignore_file_limit() {
    const SIGNALS_BYTES: usize = 8;
    // The kernel's structure: handler, flags, restorer, mask.
    let ignore = [libc::SIG_IGN, 0, 0, 0];
    // SAFETY: a valid action.
    unsafe { syscall!(libc::SYS_rt_sigaction, libc::SIGXFSZ, ignore.as_ptr(), 0, SIGNALS_BYTES; 0, 0) };
}

pub(crate) use syscall;

/// A fault of the runtime itself.
pub fn engine_fault(what: &str) -> ! {
    write(2, b"corefold: fault in the runtime: ");
    write(2, what.as_bytes());
    write(2, b"\n");
    exit_group(corefold_launch::EXIT_ENGINE)
}
