// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of the standard library. libc's own functions read and write them, by system calls that are
//! not intercepted: so before a call, the thread takes the stream's lock, the call is charged, and the descriptor is
//! ready; after it the lock is released.
use crate::calls::holding::{holding, holding_any};
use crate::calls::io;
use crate::calls::library_locks::{self, Guarded, give, opened, take_library, take_stream};
use crate::calls::stream::Stream;
use crate::engine::charge;
use crate::scheduling::fiber::current;
use crate::scheduling::sched;
use crate::stand_in::stand_ins_at;
use crate::sys;
use crate::trampoline::{Arguments, before};
use alloc::format;
use alloc::string::{String, ToString};
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// Cycles of a call that finds room or data in the stream's buffer, and of one that formats text.
const BUFFERED: u32 = 40;
const FORMATTED: u32 = 400;
/// Of a call that takes no lock.
const UNLOCKED: u32 = 10;
/// And of one that opens or closes a stream, without the system call.
pub const OPENED: u32 = 300;

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

/// Takes the stream's lock; the call costs so much. Returns the stream, unless there is none.
pub fn hold<'a>(stream: u64, cycles: u32, pc: u64, held: &mut u64) -> Option<&'a Stream> {
    // SAFETY: the program's stream, or null.
    let stream = unsafe { (stream as *const Stream).as_ref() }?;
    take_stream(stream, pc, held);
    charge(cycles);
    Some(stream)
}

fn before_output(stream: u64, cycles: u32, pc: u64, held: &mut u64) {
    if let Some(stream) = hold(stream, cycles, pc, held) {
        io::await_room(stream.descriptor());
    }
}

/// All streams: of those that have output, libc takes the lock of each.
fn before_flush(stream: u64, pc: u64, held: &mut u64) {
    match hold(stream, BUFFERED, pc, held) {
        Some(stream) => await_flush(stream),
        None => take_library(Guarded::Streams, pc, held),
    }
}

fn await_flush(stream: &Stream) {
    if stream.has_output() {
        io::await_room(stream.descriptor());
    }
}

fn before_input(stream: u64, pc: u64, held: &mut u64) {
    if let Some(stream) = hold(stream, BUFFERED, pc, held) {
        await_buffer(stream);
    }
}

fn await_buffer(stream: &Stream) {
    let fd = stream.descriptor();
    if stream.read_next >= stream.read_end && fd >= 0 {
        sched::enter_kernel();
        io::await_input(fd);
    }
}

/// Hooks by where the stream stands among a call's arguments.
macro_rules! hooks {
    ($($name:ident |$arguments:ident, $pc:ident, $held:ident| $body:expr;)*) => {$(
        pub extern "C" fn $name($arguments: &Arguments, $pc: u64, $held: &mut u64) {
            $body
        }
    )*};
}

hooks! {
    flushes_first |a, pc, held| before_flush(a.rdi, pc, held);
    touches_first |a, pc, held| _ = hold(a.rdi, BUFFERED, pc, held);
    touches_second |a, pc, held| _ = hold(a.rsi, BUFFERED, pc, held);
    writes_second |a, pc, held| before_output(a.rsi, BUFFERED, pc, held);
    writes_fourth |a, pc, held| before_output(a.rcx, BUFFERED, pc, held);
    writes_stdout |_a, pc, held| before_output(stdout() as u64, BUFFERED, pc, held);
    formats_first |a, pc, held| before_output(a.rdi, FORMATTED, pc, held);
    formats_stdout |_a, pc, held| before_output(stdout() as u64, FORMATTED, pc, held);
    reads_first |a, pc, held| before_input(a.rdi, pc, held);
    reads_third |a, pc, held| before_input(a.rdx, pc, held);
    reads_fourth |a, pc, held| before_input(a.rcx, pc, held);
    reads_fifth |a, pc, held| before_input(a.r8, pc, held);
    reads_stdin |_a, pc, held| before_input(stdin() as u64, pc, held);
}

/// Calls that leave the locking to the program. A character's is mostly inline in the program, which then only comes for
/// the buffer.
fn unlocked_output(stream: u64) {
    charge(UNLOCKED);
    // SAFETY: the program's stream, or null.
    if let Some(stream) = unsafe { (stream as *const Stream).as_ref() } {
        io::await_room(stream.descriptor());
    }
}

fn unlocked_flush(stream: u64) {
    charge(UNLOCKED);
    // SAFETY: as above.
    if let Some(stream) = unsafe { (stream as *const Stream).as_ref() } {
        await_flush(stream);
    }
}

fn unlocked_input(stream: u64) {
    charge(UNLOCKED);
    // SAFETY: as above.
    if let Some(stream) = unsafe { (stream as *const Stream).as_ref() } {
        await_buffer(stream);
    }
}

macro_rules! unlocked_hooks {
    ($($name:ident |$arguments:ident| $body:expr;)*) => {$(
        pub extern "C" fn $name($arguments: &Arguments, _pc: u64) {
            $body
        }
    )*};
}

unlocked_hooks! {
    unlocked_flushes_first |a| unlocked_flush(a.rdi);
    unlocked_writes_first |a| unlocked_output(a.rdi);
    unlocked_writes_second |a| unlocked_output(a.rsi);
    unlocked_writes_fourth |a| unlocked_output(a.rcx);
    unlocked_writes_stdout |_a| unlocked_output(stdout() as u64);
    unlocked_reads_first |a| unlocked_input(a.rdi);
    unlocked_reads_third |a| unlocked_input(a.rdx);
    unlocked_reads_fourth |a| unlocked_input(a.rcx);
    unlocked_reads_fifth |a| unlocked_input(a.r8);
    unlocked_reads_stdin |_a| unlocked_input(stdin() as u64);
}

before! {
    crate::calls::stdio::unlocked_flushes_first => fflush_unlocked;
    crate::calls::stdio::unlocked_writes_first => __overflow __woverflow;
    crate::calls::stdio::unlocked_writes_second => fputc_unlocked putc_unlocked fputs_unlocked fputwc_unlocked
        putwc_unlocked fputws_unlocked;
    crate::calls::stdio::unlocked_writes_fourth => fwrite_unlocked;
    crate::calls::stdio::unlocked_writes_stdout => putchar_unlocked putwchar_unlocked;
    crate::calls::stdio::unlocked_reads_first => fgetc_unlocked getc_unlocked fgetwc_unlocked getwc_unlocked __uflow
        __underflow __wuflow __wunderflow;
    crate::calls::stdio::unlocked_reads_third => fgets_unlocked fgetws_unlocked;
    crate::calls::stdio::unlocked_reads_fourth => fread_unlocked __fgets_unlocked_chk __fgetws_unlocked_chk;
    crate::calls::stdio::unlocked_reads_fifth => __fread_unlocked_chk;
    crate::calls::stdio::unlocked_reads_stdin => getchar_unlocked getwchar_unlocked;
}

/// The call formats or reads text that is no stream's.
pub extern "C" fn formats(_: &Arguments, _pc: u64) {
    charge(FORMATTED);
}

holding! {
    crate::calls::stdio::flushes_first => fflush;
    crate::calls::stdio::touches_first => fseek fseeko fseeko64 ftell ftello ftello64 rewind fgetpos fgetpos64 fsetpos
        fsetpos64 feof ferror clearerr setvbuf setbuf setbuffer setlinebuf fwide;
    crate::calls::stdio::touches_second => ungetc ungetwc;
    crate::calls::stdio::writes_second => fputs fputc putc _IO_putc fputws fputwc putwc putw;
    crate::calls::stdio::writes_fourth => fwrite;
    crate::calls::stdio::writes_stdout => puts putchar putwchar;
    crate::calls::stdio::formats_first => vfprintf __vfprintf_chk vfwprintf __vfwprintf_chk;
    crate::calls::stdio::formats_stdout => vprintf __vprintf_chk vwprintf __vwprintf_chk;
    crate::calls::stdio::reads_first => fgetc getc _IO_getc vfscanf __isoc99_vfscanf __isoc23_vfscanf
        fgetwc getwc getw vfwscanf __isoc99_vfwscanf __isoc23_vfwscanf;
    crate::calls::stdio::reads_third => fgets getline fgetws;
    crate::calls::stdio::reads_fourth => fread getdelim __getdelim __fgets_chk __fgetws_chk;
    crate::calls::stdio::reads_fifth => __fread_chk;
    crate::calls::stdio::reads_stdin => getchar getwchar vscanf __isoc99_vscanf __isoc23_vscanf;
}

holding_any! {
    crate::calls::stdio::formats_first => fprintf("rdx", "16") vfprintf __fprintf_chk("rcx", "24") __vfprintf_chk
        fwprintf("rdx", "16") vfwprintf __fwprintf_chk("rcx", "24") __vfwprintf_chk;
    crate::calls::stdio::formats_stdout => printf("rsi", "8") vprintf __printf_chk("rdx", "16") __vprintf_chk
        wprintf("rsi", "8") vwprintf __wprintf_chk("rdx", "16") __vwprintf_chk;
    crate::calls::stdio::reads_first => fscanf("rdx", "16") vfscanf __isoc99_fscanf("rdx", "16") __isoc99_vfscanf
        __isoc23_fscanf("rdx", "16") __isoc23_vfscanf fwscanf("rdx", "16") vfwscanf
        __isoc99_fwscanf("rdx", "16") __isoc99_vfwscanf __isoc23_fwscanf("rdx", "16") __isoc23_vfwscanf;
    crate::calls::stdio::reads_stdin => scanf("rsi", "8") vscanf __isoc99_scanf("rsi", "8") __isoc99_vscanf
        __isoc23_scanf("rsi", "8") __isoc23_vscanf;
}

before! {
    crate::calls::stdio::formats => sprintf snprintf vsprintf vsnprintf __sprintf_chk __snprintf_chk __vsprintf_chk
        __vsnprintf_chk sscanf vsscanf __isoc99_sscanf __isoc99_vsscanf __isoc23_sscanf __isoc23_vsscanf strtod;
}

/// A call that makes a stream, and puts it on libc's list of all.
pub fn makes(pc: u64, name: impl FnOnce() -> Option<String>, make: impl FnOnce() -> *mut c_void) -> *mut c_void {
    let mut held = 0;
    current().called_at.set(pc);
    let stream = make();
    current().called_at.set(0);
    take_library(Guarded::Streams, pc, &mut held);
    charge(OPENED);
    give(held, pc);
    // SAFETY: a new stream, or null.
    if let (Some(stream), Some(name)) = (unsafe { stream.cast::<Stream>().as_ref() }, name()) {
        opened(stream, name);
    }
    stream
}

stand_ins_at! {
    "rdx" fn fdopen(fd: c_int, mode: *const c_char; pc) -> *mut c_void {
        makes(pc, || Some(format!("descriptor {fd}")), || own(fd, mode))
    }

    "rdi" fn tmpfile(; pc) -> *mut c_void {
        makes(pc, || Some("tmpfile".to_string()), own)
    }

    "rdi" fn tmpfile64(; pc) -> *mut c_void {
        makes(pc, || Some("tmpfile".to_string()), own)
    }

    "rcx" fn fmemopen(memory: *mut c_void, bytes: usize, mode: *const c_char; pc) -> *mut c_void {
        makes(pc, || Some("fmemopen".to_string()), || own(memory, bytes, mode))
    }

    "rdx" fn open_memstream(text: *mut *mut c_char, bytes: *mut usize; pc) -> *mut c_void {
        makes(pc, || Some("open_memstream".to_string()), || own(text, bytes))
    }

    "rdx" fn open_wmemstream(text: *mut *mut libc::wchar_t, bytes: *mut usize; pc) -> *mut c_void {
        makes(pc, || Some("open_wmemstream".to_string()), || own(text, bytes))
    }

    "rsi" fn fclose(stream: *mut Stream; pc) -> c_int {
        let mut held = 0;
        before_flush(stream as u64, pc, &mut held);
        sched::enter_kernel();
        // SAFETY: the program's stream.
        let closed = unsafe { &*stream };
        io::forget(closed.descriptor());
        library_locks::closed(closed);
        // libc takes both locks again, and the stream's is then gone.
        give(core::mem::take(&mut held), pc);
        library_locks::pass_library(Guarded::Streams, OPENED, pc);
        own(stream)
    }

    "rsi" fn flockfile(stream: *mut Stream; pc) -> () {
        let mut held = 0;
        hold(stream as u64, BUFFERED / 4, pc, &mut held);
    }

    "rsi" fn ftrylockfile(stream: *mut Stream; pc) -> c_int {
        charge(BUFFERED / 4);
        // SAFETY: the program's stream.
        c_int::from(!library_locks::try_stream(unsafe { &*stream }, pc))
    }

    "rsi" fn funlockfile(stream: *mut Stream; pc) -> () {
        // SAFETY: the program's stream.
        give(unsafe { (*stream).lock }, pc);
    }
}
