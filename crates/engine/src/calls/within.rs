// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls that libc makes inside itself and that may block: a stream reads its descriptor, the loader takes
//! its lock. No stand-in is asked, and the one thread that runs all of ours would block for real, though
//! what it waits for can only come from the others. So the first bytes of those functions in libc are made
//! jumps to ours, at the start of a run. Nothing is charged here: the call that led here has paid.
use crate::account::host;
use crate::calls::io;
use crate::engine::{active, note, now};
use crate::frees;
use crate::scheduling::fiber::FIBERS;
use crate::scheduling::fiber::{State, Wait};
use crate::scheduling::store_buffer::write_value;
use crate::scheduling::{placing, sched};
use crate::sys;
use crate::threads::object::me;

mod locks;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};

/// `jmp [rip]`, and the address that it takes from behind it.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const JUMP_BYTES: usize = JUMP.len() + 8;
const PAGE: u64 = 4096;
/// Compilers begin functions at multiples of this, and fill up with instructions that do nothing.
const ALIGNED: u64 = 16;
const PADDING: [u8; 5] = [0x66, 0x0f, 0x90, 0xcc, 0];

/// Has libc's inner calls come here.
pub fn redirect() {
    let functions: [(&CStr, usize); 10] = [
        (c"read", read as *const () as usize),
        (c"write", write as *const () as usize),
        (c"pthread_mutex_lock", lock as *const () as usize),
        (c"pthread_mutex_unlock", unlock as *const () as usize),
        (c"__lll_lock_wait_private", locks::wait as *const () as usize),
        (c"__lll_lock_wake_private", locks::wake as *const () as usize),
        (c"pthread_once", locks::once as *const () as usize),
        (c"pthread_rwlock_rdlock", locks::read as *const () as usize),
        (c"pthread_rwlock_wrlock", locks::write as *const () as usize),
        (c"pthread_rwlock_unlock", locks::unlock as *const () as usize),
    ];
    frees::take_over();
    // SAFETY: terminated strings.
    let theirs = functions.map(|(name, _)| unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as u64);
    if !theirs.iter().all(|function| has_room(*function)) {
        let what = "unexpected C library: a long fread from a pipe of the program's own, or dlopen in two threads at \
                    once, may hang";
        return note(what, 0);
    }
    for (theirs, (_, ours)) in theirs.into_iter().zip(functions) {
        if !replace(theirs, ours) {
            sys::engine_fault("cannot modify the C library's code in memory (does a security policy forbid it?)");
        }
    }
}

/// Has calls of a function that is exported go to `ours`. False: they cannot.
pub fn replace_function(name: &CStr, ours: usize) -> bool {
    // SAFETY: a terminated string.
    let theirs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64;
    theirs != 0 && has_room(theirs) && replace(theirs, ours)
}

/// Has calls of a function of our own go to `theirs`, by a short jump: our entries follow on each other closely.
/// False: it is too far away.
pub fn lead_on(name: &CStr, theirs: u64) -> bool {
    const SHORT: usize = 5;
    // SAFETY: a terminated string.
    let ours = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as u64;
    if !crate::code::is_own(ours) {
        // The program itself has one, which comes first.
        return true;
    }
    let Ok(distance) = i32::try_from(theirs.wrapping_sub(ours + SHORT as u64) as i64) else { return false };
    let mut jump = [0xe9, 0, 0, 0, 0];
    jump[1..].copy_from_slice(&distance.to_le_bytes());
    rewrite(ours, &jump)
}

/// Is there room for a jump, before the next function begins?
fn has_room(function: u64) -> bool {
    let bytes = bytes_of(function as *const c_void);
    let padded = bytes.next_multiple_of(ALIGNED as usize);
    // SAFETY: what follows a function up to the next multiple is padding, or code at worst.
    let next = unsafe { *((function as usize + bytes) as *const u8) };
    let is_padding = bytes == padded || PADDING.contains(&next);
    bytes > 0 && function.is_multiple_of(ALIGNED) && is_padding && padded >= JUMP_BYTES
}

/// How long the function at `address` is.
fn bytes_of(address: *const c_void) -> usize {
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *const libc::Elf64_Sym,
            what: c_int,
        ) -> c_int;
    }
    const SYMBOL: c_int = 1;
    let mut symbol: *const libc::Elf64_Sym = core::ptr::null();
    // SAFETY: a zeroed one is valid, and the call fills both.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let found = dladdr1(address, &mut info, &mut symbol, SYMBOL);
        if found == 0 || symbol.is_null() { 0 } else { (*symbol).st_size as usize }
    }
}

/// Puts a jump to `ours` at the beginning of a function.
fn replace(theirs: u64, ours: usize) -> bool {
    let mut jump = [0; JUMP_BYTES];
    jump[..JUMP.len()].copy_from_slice(&JUMP);
    jump[JUMP.len()..].copy_from_slice(&ours.to_le_bytes());
    rewrite(theirs, &jump)
}

/// Puts these bytes at the beginning of a function.
fn rewrite(function: u64, code: &[u8]) -> bool {
    let begin = function / PAGE * PAGE;
    let bytes = (function + code.len() as u64).next_multiple_of(PAGE) - begin;
    if !sys::protect(begin, bytes, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        return false;
    }
    // SAFETY: code that is writable now; there is no other thread yet that could run it.
    unsafe { core::ptr::copy_nonoverlapping(code.as_ptr(), function as *mut u8, code.len()) };
    sys::protect(begin, bytes, libc::PROT_READ | libc::PROT_EXEC)
}

extern "C" fn read(fd: c_int, into: *mut c_void, bytes: usize) -> isize {
    if active() {
        crate::threads::signals::pending::deafly(|| io::await_input(fd));
    }
    host::count("read");
    // SAFETY: libc's own call.
    let got = unsafe { sys::syscall!(libc::SYS_read, fd, into, bytes; 0, 0, 0) };
    io::changed();
    crate::stand_in::result(got)
}

extern "C" fn write(fd: c_int, from: *const c_void, bytes: usize) -> isize {
    // A pipe that polls as writable takes so much without blocking; libc asks again for the rest.
    let mut most = bytes;
    if active() && io::fills_up(fd) {
        crate::threads::signals::pending::deafly(|| io::await_room(fd));
        most = bytes.min(io::transfer::PIPE_BUF as usize);
    }
    host::count("write");
    // SAFETY: libc's own call.
    let put = unsafe { sys::syscall!(libc::SYS_write, fd, from, most; 0, 0, 0) };
    io::changed();
    crate::stand_in::result(put)
}

/// The call that threads wait in for a lock of libc's.
const LIBRARY: &str = "dlopen";

/// Wakes the threads that wait for a mutex of libc's.
fn wake_waiting(mutex: u64) {
    let waits = |wait: Wait| matches!(wait, Wait::Futex { object, .. } if object == mutex);
    let waiting = |f: &&crate::scheduling::fiber::Fiber| f.state.get() == State::Blocked && waits(f.wait.get());
    let waiting: Vec<usize> = FIBERS.iter().filter(waiting).map(|f| f.id.get()).collect();
    waiting.into_iter().for_each(|fiber| placing::wake(fiber, now()));
}

fn wait_for(object: u64, call: &'static str) {
    crate::threads::signals::pending::deafly(|| sched::block(Wait::Futex { object, call }));
}

/// Words of glibc's mutex, by their index.
const LOCK: usize = 0;
const COUNT: usize = 1;
const OWNER: usize = 2;

fn word(mutex: *mut u32, at: usize) -> u32 {
    // SAFETY: a mutex of libc's.
    unsafe { mutex.add(at).read() }
}

fn set(mutex: *mut u32, at: usize, value: u32) {
    write_value(mutex as u64 + at as u64 * 4, 4, value.into());
}

/// libc's own locks are recursive, the loader's above all: it is held while a library's constructors run,
/// which are simulated and let others go on. Outside a run there is one thread.
extern "C" fn lock(mutex: *mut u32) -> c_int {
    if !active() {
        return 0;
    }
    while word(mutex, LOCK) != 0 && word(mutex, OWNER) != me() {
        wait_for(mutex as u64, LIBRARY);
    }
    set(mutex, COUNT, if word(mutex, LOCK) == 0 { 1 } else { word(mutex, COUNT) + 1 });
    set(mutex, LOCK, 1);
    set(mutex, OWNER, me());
    0
}

extern "C" fn unlock(mutex: *mut u32) -> c_int {
    if !active() || word(mutex, OWNER) != me() {
        return 0;
    }
    let count = word(mutex, COUNT).saturating_sub(1);
    set(mutex, COUNT, count);
    if count == 0 {
        set(mutex, LOCK, 0);
        set(mutex, OWNER, 0);
        wake_waiting(mutex as u64);
    }
    0
}
