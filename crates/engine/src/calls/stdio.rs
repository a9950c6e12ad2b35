// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of the standard library. libc's own functions read and write them, by system calls that are
//! out of our reach, under a lock that knows nothing of fibers: so before a call, the descriptor has to
//! be ready and the lock free, and the call is paid for.
use crate::calls::{io, within};
use crate::engine::{charge, engine, now};
use crate::hooks::atomics;
use crate::passing::{Arguments, before};
use crate::scheduling::fiber::{Wait, Woken};
use crate::scheduling::{placing, sched};
use crate::stand_in::stand_ins;
use crate::sys;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use corefold_model::ticks;

/// The beginning of glibc's `FILE`, which is part of its binary interface.
#[repr(C)]
struct Stream {
    flags: c_int,
    read_next: *const u8,
    read_end: *const u8,
    others: [usize; 11],
    fd: c_int,
    flags2: c_int,
    offset: i64,
    column: u16,
    vtable_offset: i8,
    short: u8,
    lock: u64,
}

/// Cycles of a call that finds room or data in the stream's buffer, and of one that formats text.
const BUFFERED: u32 = 40;
const FORMATTED: u32 = 400;

/// One of the standard streams, which the program may set. `cache` holds where the variable is.
fn standard(cache: &AtomicUsize, name: &'static [u8]) -> *mut Stream {
    if cache.load(Ordering::Relaxed) == 0 {
        // SAFETY: a terminated string. Programs may have a copy of the variable, which then counts.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr().cast()) };
        cache.store(found as usize, Ordering::Relaxed);
    }
    // SAFETY: libc's variable of that name points to a stream.
    unsafe { *(cache.load(Ordering::Relaxed) as *const *mut Stream) }
}

fn stdin() -> *mut Stream {
    static CACHE: AtomicUsize = AtomicUsize::new(0);
    standard(&CACHE, b"stdin\0")
}

fn stdout() -> *mut Stream {
    static CACHE: AtomicUsize = AtomicUsize::new(0);
    standard(&CACHE, b"stdout\0")
}

/// Gives the standard streams buffers that do not come from the program's heap: how large libc makes
/// them, and so where the program's own objects lie, depends on whether a terminal is behind them.
pub fn give_buffers() {
    const BYTES: usize = 4096;
    for (stream, fd) in [(stdin(), 0), (stdout(), 1)] {
        let mode = if is_terminal(fd) { libc::_IOLBF } else { libc::_IOFBF };
        let buffer = alloc::vec![0u8; BYTES].leak();
        // SAFETY: the stream has not been used yet, and the buffer stays.
        unsafe { libc::setvbuf(stream.cast(), buffer.as_mut_ptr().cast(), mode, BYTES) };
    }
}

fn is_terminal(fd: c_int) -> bool {
    // SAFETY: a zeroed structure is valid, and the kernel fills it.
    unsafe {
        let mut state: libc::termios = core::mem::zeroed();
        sys::syscall!(libc::SYS_ioctl, fd, libc::TCGETS, &raw mut state; 0, 0, 0) == 0
    }
}

/// A stream that the program has locked over several calls.
struct Lock {
    stream: u64,
    owner: usize,
    count: usize,
}

struct Locks(UnsafeCell<Vec<Lock>>);
// SAFETY: only the carrier uses it.
unsafe impl Sync for Locks {}
static LOCKS: Locks = Locks(UnsafeCell::new(Vec::new()));

fn locks() -> &'static mut Vec<Lock> {
    // SAFETY: as above; no reference outlives a switch.
    unsafe { &mut *LOCKS.0.get() }
}

fn find(stream: *mut Stream) -> Option<usize> {
    locks().iter().position(|l| l.stream == stream as u64)
}

fn is_others(stream: *mut Stream) -> bool {
    find(stream).is_some_and(|at| locks()[at].owner != engine().sched.fiber)
}

/// The stream's lock is taken and let go: its line comes here. Returns when no other thread keeps it.
fn pass_lock(stream: *mut Stream, pc: u64) {
    // SAFETY: the program's stream.
    let lock = unsafe { (*stream).lock };
    if lock != 0 {
        atomics::annotate(lock, 4, pc);
    }
    while is_others(stream) {
        sched::enter_kernel();
        if is_others(stream) {
            sched::block(Wait::Futex { address: stream as u64, object: stream as u64, call: "flockfile" });
            if engine().fibers[engine().sched.fiber].woken == Woken::Signal {
                crate::threads::futex::interrupted(pc);
            }
        }
    }
    within::await_stream(stream as u64, lock);
}

fn lock(stream: *mut Stream, pc: u64) {
    pass_lock(stream, pc);
    match find(stream) {
        Some(at) => locks()[at].count += 1,
        None => locks().push(Lock { stream: stream as u64, owner: engine().sched.fiber, count: 1 }),
    }
}

fn unlock(stream: *mut Stream) {
    let Some(at) = find(stream).filter(|_| !is_others(stream)) else { return };
    locks()[at].count -= 1;
    if locks()[at].count > 0 {
        return;
    }
    locks().remove(at);
    let waits = |wait: Wait| matches!(wait, Wait::Futex { address, call: "flockfile", .. } if address == stream as u64);
    let waiting: Vec<usize> = engine().fibers.iter().filter(|f| waits(f.wait)).map(|f| f.id).collect();
    if !waiting.is_empty() {
        sched::enter_kernel();
    }
    let latency = ticks(engine().launch.machine.system.wake);
    for fiber in waiting {
        if engine().fibers[fiber].state == crate::scheduling::fiber::State::Blocked {
            placing::wake(fiber, now(), latency);
        }
    }
}

fn before_output(stream: *mut Stream, cycles: u32, pc: u64) {
    if stream.is_null() {
        return within::await_all_streams();
    }
    charge(cycles);
    pass_lock(stream, pc);
    // SAFETY: the program's stream.
    io::await_room(unsafe { (*stream).fd });
}

/// A call that only takes the stream's lock.
fn before_touch(stream: *mut Stream, pc: u64) {
    if !stream.is_null() {
        charge(BUFFERED);
        pass_lock(stream, pc);
    }
}

fn before_input(stream: *mut Stream, pc: u64) {
    if stream.is_null() {
        return;
    }
    charge(BUFFERED);
    pass_lock(stream, pc);
    // SAFETY: the program's stream.
    let (fd, empty) = unsafe { ((*stream).fd, (*stream).read_next >= (*stream).read_end) };
    if empty && fd >= 0 {
        sched::enter_kernel();
        io::await_input(fd);
    }
}

/// Hooks by where the stream stands among a call's arguments.
macro_rules! hooks {
    ($($name:ident |$arguments:ident, $pc:ident| $body:expr;)*) => {$(
        pub extern "C" fn $name($arguments: &Arguments, $pc: u64) {
            $body
        }
    )*};
}

hooks! {
    writes_first |a, pc| before_output(a.rdi as *mut Stream, BUFFERED, pc);
    closes |a, pc| {
        let stream = a.rdi as *mut Stream;
        before_output(stream, BUFFERED, pc);
        sched::enter_kernel();
        // SAFETY: the program's stream.
        io::forget(unsafe { (*stream).fd });
    };
    touches_first |a, pc| before_touch(a.rdi as *mut Stream, pc);
    touches_second |a, pc| before_touch(a.rsi as *mut Stream, pc);
    writes_second |a, pc| before_output(a.rsi as *mut Stream, BUFFERED, pc);
    writes_fourth |a, pc| before_output(a.rcx as *mut Stream, BUFFERED, pc);
    writes_stdout |_a, pc| before_output(stdout(), BUFFERED, pc);
    formats_first |a, pc| before_output(a.rdi as *mut Stream, FORMATTED, pc);
    formats_stdout |_a, pc| before_output(stdout(), FORMATTED, pc);
    formats |_a, _pc| charge(FORMATTED);
    reads_first |a, pc| before_input(a.rdi as *mut Stream, pc);
    reads_third |a, pc| before_input(a.rdx as *mut Stream, pc);
    reads_fourth |a, pc| before_input(a.rcx as *mut Stream, pc);
    reads_fifth |a, pc| before_input(a.r8 as *mut Stream, pc);
    reads_stdin |_a, pc| before_input(stdin(), pc);
}

before! {
    crate::calls::stdio::writes_first => fflush;
    crate::calls::stdio::closes => fclose;
    crate::calls::stdio::touches_first => fseek fseeko fseeko64 ftell ftello ftello64 rewind fgetpos fgetpos64 fsetpos
        fsetpos64 feof ferror clearerr setvbuf setbuf setbuffer setlinebuf fwide;
    crate::calls::stdio::touches_second => ungetc ungetwc;
    crate::calls::stdio::writes_second => fputs fputc putc _IO_putc fputws fputwc putwc putw;
    crate::calls::stdio::writes_fourth => fwrite;
    crate::calls::stdio::writes_stdout => puts putchar putwchar;
    crate::calls::stdio::formats_first => fprintf vfprintf __fprintf_chk __vfprintf_chk
        fwprintf vfwprintf __fwprintf_chk __vfwprintf_chk;
    crate::calls::stdio::formats_stdout => printf vprintf __printf_chk __vprintf_chk;
    crate::calls::stdio::formats => sprintf snprintf vsprintf vsnprintf __sprintf_chk __snprintf_chk __vsprintf_chk
        __vsnprintf_chk sscanf vsscanf __isoc99_sscanf __isoc99_vsscanf strtod strftime;
    crate::calls::stdio::reads_first => fgetc getc _IO_getc fscanf vfscanf __isoc99_fscanf __isoc99_vfscanf
        fgetwc getwc getw fwscanf vfwscanf __isoc99_fwscanf __isoc99_vfwscanf;
    crate::calls::stdio::reads_third => fgets getline fgetws;
    crate::calls::stdio::reads_fourth => fread getdelim __getdelim __fgets_chk;
    crate::calls::stdio::reads_fifth => __fread_chk;
    crate::calls::stdio::reads_stdin => getchar scanf vscanf __isoc99_scanf __isoc99_vscanf;
}

stand_ins! {
    fn flockfile(stream: *mut c_void) -> () {
        lock(stream.cast(), 0);
    }

    fn ftrylockfile(stream: *mut c_void) -> c_int {
        if is_others(stream.cast()) {
            return 1;
        }
        lock(stream.cast(), 0);
        0
    }

    fn funlockfile(stream: *mut c_void) -> () {
        unlock(stream.cast());
    }
}
