// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files. Their calls cost what a system call costs; disk time is not modelled. Some paths
//! are special.
use crate::account::host;
use crate::calls::io::{aside, fifos, parts, remember_random};
use crate::calls::library_locks::{file_name, give};
use crate::calls::random;
use crate::calls::shown;
use crate::calls::stdio::{OPENED, hold, makes};
use crate::mappings::shared;
use crate::real;
use crate::scheduling::{peek, sched};
use crate::stand_in::{failed, result, stand_ins_at};
use crate::sys;
use crate::threads::cancel;
use crate::threads::signals::pending::deafly;
use alloc::format;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// What a special path is.
enum Path {
    /// One of the random devices.
    Random,
    /// The limits that the host sets for this process (cgroups), which do not limit the simulated machine.
    Quota,
    File,
}

fn look_at(path: *const c_char) -> Path {
    if peek::fetch(path).is_none() {
        return Path::File;
    }
    // SAFETY: the caller's terminated string.
    match unsafe { CStr::from_ptr(path) }.to_bytes() {
        b"/dev/urandom" | b"/dev/random" => Path::Random,
        b"/proc/self/cgroup" => Path::Quota,
        _ => Path::File,
    }
}

/// Bytes ready in a random device's descriptor, for readers that our `read` does not see.
const READY: usize = 256 << 10;

fn open_random(flags: c_int) -> c_int {
    let close = if flags & libc::O_CLOEXEC != 0 { libc::MFD_CLOEXEC } else { 0 };
    let mut bytes = alloc::vec![0; READY];
    random::fill(&mut bytes);
    // SAFETY: a new descriptor of our own.
    let fd = unsafe {
        let fd = sys::syscall!(libc::SYS_memfd_create, c"urandom".as_ptr(), close; 0, 0, 0, 0);
        if fd >= 0 {
            sys::write(fd as i32, &bytes);
            sys::syscall!(libc::SYS_lseek, fd, 0, libc::SEEK_SET; 0, 0, 0);
            remember_random(fd as c_int);
        }
        fd
    };
    result(fd) as c_int
}

/// The flags that `creat` stands for.
const CREATES: c_int = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;

extern "C" fn read_cookie(_cookie: *mut c_void, into: *mut u8, bytes: usize) -> isize {
    // SAFETY: libc's buffer.
    random::fill(unsafe { core::slice::from_raw_parts_mut(into, bytes) });
    bytes as isize
}

/// An endless stream of random bytes.
fn open_random_stream(mode: *const c_char) -> *mut c_void {
    #[repr(C)]
    struct Functions {
        read: extern "C" fn(*mut c_void, *mut u8, usize) -> isize,
        others: [usize; 3],
    }
    unsafe extern "C" {
        fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut c_void;
    }
    // SAFETY: the caller's mode; the functions may be null.
    unsafe { fopencookie(core::ptr::null_mut(), mode, Functions { read: read_cookie, others: [0; 3] }) }
}

/// What all of the open family do: our own answer, or libc's.
fn open_any(directory: c_int, path: *const c_char, flags: c_int, own: impl FnOnce(*const c_char) -> c_int) -> c_int {
    cancel::test();
    sched::enter_kernel();
    match look_at(path) {
        Path::Random => open_random(flags),
        Path::Quota => failed(libc::ENOENT),
        Path::File => {
            host::count("open");
            let path = shown::instead(directory, path);
            let fd = fifos::open(directory, path, flags).map_or_else(|| own(path), |code| result(code) as c_int);
            crate::calls::io::forget(fd);
            host::written::opened(fd, flags);
            fd
        }
    }
}

fn open_stream(
    path: *const c_char,
    mode: *const c_char,
    own: impl FnOnce(*const c_char) -> *mut c_void,
) -> *mut c_void {
    sched::enter_kernel();
    match look_at(path) {
        Path::Random => open_random_stream(mode),
        Path::Quota => {
            failed(libc::ENOENT);
            core::ptr::null_mut()
        }
        Path::File => {
            host::count("open");
            let path = shown::instead(libc::AT_FDCWD, path);
            let stream = open_fifo_stream(path, mode).unwrap_or_else(|| own(path));
            note_written(stream, mode);
            stream
        }
    }
}

/// The flags that a stream's mode stands for.
fn flags_of(mode: *const c_char) -> c_int {
    // SAFETY: the caller's terminated string.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let has = |letter| mode.contains(&letter);
    let (first, of_first) = match mode.first() {
        Some(b'w') => (libc::O_WRONLY, libc::O_CREAT | libc::O_TRUNC),
        Some(b'a') => (libc::O_WRONLY, libc::O_CREAT | libc::O_APPEND),
        _ => (libc::O_RDONLY, 0),
    };
    let others = [(b'x', libc::O_EXCL), (b'e', libc::O_CLOEXEC)].iter().filter(|(letter, _)| has(*letter));
    let access = if has(b'+') { libc::O_RDWR } else { first };
    others.fold(access | of_first, |all, (_, flag)| all | flag)
}

/// A stream of a FIFO, which libc would wait for itself; `None`: it is none.
fn open_fifo_stream(path: *const c_char, mode: *const c_char) -> Option<*mut c_void> {
    real::real! { fn fdopen(fd: c_int, mode: *const c_char) -> *mut c_void; }
    let fd = result(fifos::open(libc::AT_FDCWD, path, flags_of(mode))?) as c_int;
    if fd < 0 {
        return Some(core::ptr::null_mut());
    }
    crate::calls::io::forget(fd);
    let stream = fdopen(fd, mode);
    if stream.is_null() {
        sys::close(fd);
    }
    Some(stream)
}

/// The stream gets another file in place of its own, under its lock.
fn reopen_stream(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut c_void,
    pc: u64,
    own: impl Fn(*const c_char) -> *mut c_void,
) -> *mut c_void {
    let mut held = 0;
    hold(stream as u64, OPENED, pc, &mut held);
    sched::enter_kernel();
    let path = shown::instead(libc::AT_FDCWD, path);
    let again = reopen_as_fifo(path, mode, stream, &own).unwrap_or_else(|| own(path));
    note_written(again, mode);
    give(held, pc);
    again
}

/// The same of a FIFO, which libc would wait for itself: first another file, so that the old one is closed by then. `None`:
/// it is none. Handlers run once the call is over.
fn reopen_as_fifo(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut c_void,
    own: &impl Fn(*const c_char) -> *mut c_void,
) -> Option<*mut c_void> {
    let flags = flags_of(mode);
    if !fifos::is_opened(libc::AT_FDCWD, path, flags) {
        return None;
    }
    if own(c"/dev/null".as_ptr()).is_null() {
        return Some(core::ptr::null_mut());
    }
    let mut code = None;
    deafly(|| code = fifos::open(libc::AT_FDCWD, path, flags));
    let code = code?;
    if code < 0 {
        // There is no file of that name: the stream is closed.
        own(c"".as_ptr());
        failed(-code as c_int);
        return Some(core::ptr::null_mut());
    }
    // SAFETY: a new descriptor of ours takes the place of the stream's.
    unsafe {
        let fd = libc::fileno(stream.cast());
        sys::syscall!(libc::SYS_dup3, code, fd, flags & libc::O_CLOEXEC; 0, 0, 0);
        crate::calls::io::forget(fd);
    }
    sys::close(code as c_int);
    Some(stream)
}

/// The kernel's `struct open_how`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct How {
    flags: u64,
    mode: u64,
    resolve: u64,
}

fn kernels_open(directory: c_int, path: *const c_char, how: *const How, bytes: usize) -> i64 {
    // SAFETY: the program's own call, or a descriptor of ours.
    unsafe { sys::syscall!(libc::SYS_openat2, directory, path, how, bytes; 0, 0) }
}

/// The system call `openat2`. A file that it finds by rules of its own is opened as it is, unless it is a FIFO.
pub fn open_by_how(directory: c_int, path: *const c_char, how: *const How, bytes: usize) -> c_int {
    let own = |path| result(kernels_open(directory, path, how, bytes)) as c_int;
    match peek::fetch(how).filter(|_| bytes >= size_of::<How>()) {
        Some(How { flags, resolve: 0, .. }) => open_any(directory, path, flags as c_int, own),
        Some(how) => {
            cancel::test();
            sched::enter_kernel();
            let fd = open_resolved(directory, path, how).map_or_else(|| own(path), |code| result(code) as c_int);
            crate::calls::io::forget(fd);
            host::written::opened(fd, how.flags as c_int);
            fd
        }
        None => own(path),
    }
}

/// `None`: what is found is no FIFO.
fn open_resolved(directory: c_int, path: *const c_char, how: How) -> Option<i64> {
    const NO_LINK: u64 = libc::O_NOFOLLOW as u64;
    let flags = libc::O_PATH as u64 | libc::O_CLOEXEC as u64 | how.flags & NO_LINK;
    let only = How { flags, mode: 0, ..how };
    let found = aside(kernels_open(directory, path, &raw const only, size_of::<How>()))?;
    let name = format!("/proc/self/fd/{found}\0");
    let code = fifos::open(libc::AT_FDCWD, name.as_ptr().cast(), (how.flags & !NO_LINK) as c_int);
    sys::close(found);
    code
}

/// What is written to the stream reaches its file.
fn note_written(stream: *mut c_void, mode: *const c_char) {
    if !stream.is_null() {
        // SAFETY: libc has made the stream.
        let fd = unsafe { libc::fileno(stream.cast()) };
        host::written::opened(fd, flags_of(mode));
    }
}

stand_ins_at! {
    "rcx" fn open(path: *const c_char, flags: c_int, mode: c_uint; _pc) -> c_int {
        open_any(libc::AT_FDCWD, path, flags, |path| own(path, flags, mode))
    }

    "rcx" fn open64(path: *const c_char, flags: c_int, mode: c_uint; _pc) -> c_int {
        open_any(libc::AT_FDCWD, path, flags, |path| own(path, flags, mode))
    }

    "rdx" fn creat(path: *const c_char, mode: c_uint; _pc) -> c_int {
        open_any(libc::AT_FDCWD, path, CREATES, |path| own(path, mode))
    }

    "rdx" fn creat64(path: *const c_char, mode: c_uint; _pc) -> c_int {
        open_any(libc::AT_FDCWD, path, CREATES, |path| own(path, mode))
    }

    "rdx" fn __open_2(path: *const c_char, flags: c_int; _pc) -> c_int {
        open_any(libc::AT_FDCWD, path, flags, |path| own(path, flags))
    }

    "rdx" fn __open64_2(path: *const c_char, flags: c_int; _pc) -> c_int {
        open_any(libc::AT_FDCWD, path, flags, |path| own(path, flags))
    }

    "rcx" fn __openat_2(directory: c_int, path: *const c_char, flags: c_int; _pc) -> c_int {
        open_any(directory, path, flags, |path| own(directory, path, flags))
    }

    "rcx" fn __openat64_2(directory: c_int, path: *const c_char, flags: c_int; _pc) -> c_int {
        open_any(directory, path, flags, |path| own(directory, path, flags))
    }

    "r8" fn openat(directory: c_int, path: *const c_char, flags: c_int, mode: c_uint; _pc) -> c_int {
        open_any(directory, path, flags, |path| own(directory, path, flags, mode))
    }

    "r8" fn openat64(directory: c_int, path: *const c_char, flags: c_int, mode: c_uint; _pc) -> c_int {
        open_any(directory, path, flags, |path| own(directory, path, flags, mode))
    }

    "rdx" fn fopen(path: *const c_char, mode: *const c_char; pc) -> *mut c_void {
        makes(pc, || file_name(path as u64), || open_stream(path, mode, |path| own(path, mode)))
    }

    "rdx" fn fopen64(path: *const c_char, mode: *const c_char; pc) -> *mut c_void {
        makes(pc, || file_name(path as u64), || open_stream(path, mode, |path| own(path, mode)))
    }

    "rcx" fn freopen(path: *const c_char, mode: *const c_char, stream: *mut c_void; pc) -> *mut c_void {
        reopen_stream(path, mode, stream, pc, |path| own(path, mode, stream))
    }

    "rcx" fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut c_void; pc) -> *mut c_void {
        reopen_stream(path, mode, stream, pc, |path| own(path, mode, stream))
    }
}

fn read_at(into: u64, bytes: usize, pc: u64, own: impl FnOnce() -> isize) -> isize {
    cancel::test();
    sched::enter_kernel();
    host::count("pread");
    let got = own();
    parts::has_written(&parts::one(into, bytes), got as i64, pc);
    got
}

fn write_at(fd: c_int, from: u64, bytes: usize, offset: i64, pc: u64, own: impl FnOnce() -> isize) -> isize {
    cancel::test();
    sched::enter_kernel();
    parts::will_read(&parts::one(from, bytes), pc);
    host::count("pwrite");
    let put = own();
    shared::written(fd, offset.max(0) as u64, put.max(0) as u64, pc);
    put
}

stand_ins_at! {
    "r8" fn pread(fd: c_int, into: u64, bytes: usize, offset: i64; pc) -> isize {
        read_at(into, bytes, pc, || own(fd, into, bytes, offset))
    }

    "r8" fn pread64(fd: c_int, into: u64, bytes: usize, offset: i64; pc) -> isize {
        read_at(into, bytes, pc, || own(fd, into, bytes, offset))
    }

    "r8" fn pwrite(fd: c_int, from: u64, bytes: usize, offset: i64; pc) -> isize {
        write_at(fd, from, bytes, offset, pc, || own(fd, from, bytes, offset))
    }

    "r8" fn pwrite64(fd: c_int, from: u64, bytes: usize, offset: i64; pc) -> isize {
        write_at(fd, from, bytes, offset, pc, || own(fd, from, bytes, offset))
    }
}
