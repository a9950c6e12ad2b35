// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocators other than the C library's. One in the program itself is used. One in a shared library, linked or
//! preloaded, is simulated like the rest of the program if it was compiled with hooks: our entries lead on to its own.
//! Of a library without hooks nothing would be seen, neither its time nor what lies where: our heap stands in for it as
//! it does for glibc's, and the report says so.
use crate::calls::within;
use crate::code;
use crate::code::instrumented;
use crate::engine::{active, note};
use crate::real;
use crate::registers;
use crate::sys;
use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// What an allocator exports, beside the C++ operators.
const FUNCTIONS: [&CStr; 9] = [
    c"malloc",
    c"free",
    c"calloc",
    c"realloc",
    c"memalign",
    c"aligned_alloc",
    c"posix_memalign",
    c"malloc_usable_size",
    c"cfree",
];

/// The file name of the library that a function is in.
fn library_of(function: *const c_void) -> Option<String> {
    // SAFETY: a zeroed one is valid, and the call fills it; the name is the loader's.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let found = libc::dladdr(function, &mut info) != 0 && !info.dli_fname.is_null();
        let path = found.then(|| CStr::from_ptr(info.dli_fname).to_string_lossy())?;
        Some(String::from(path.rsplit('/').next().unwrap_or_default()))
    }
}

/// The program's own `malloc`; 0: there is none.
static MALLOC: AtomicUsize = AtomicUsize::new(0);

/// An object from the program's own allocator, for a function of libc's that a stand-in carries out. None: the program
/// has no allocator of its own, and the object is to come from our heap.
pub fn allocate(bytes: u64) -> Option<u64> {
    let malloc = MALLOC.load(Ordering::Relaxed);
    registers::preserve();
    // SAFETY: the program's `malloc`.
    (malloc != 0).then(|| unsafe { core::mem::transmute::<usize, extern "C" fn(u64) -> u64>(malloc)(bytes) })
}

/// The C++ operator of this name that ours leads on to: the next one, while nothing is simulated, and where it comes to
/// an allocator of the program's in the end. None: ours takes from the heap. `name` ends in a zero byte.
pub fn operator(cache: &AtomicUsize, name: &'static [u8]) -> Option<usize> {
    const OURS: usize = 1;
    if !active() {
        return Some(real::next(name.as_ptr().cast())).filter(|next| *next != 0);
    }
    let known = cache.load(Ordering::Relaxed);
    if known != 0 {
        return Some(known).filter(|known| *known != OURS);
    }
    let next = real::next(name.as_ptr().cast());
    let is_theirs = MALLOC.load(Ordering::Relaxed) != 0 || has_operator() || instrumented::is_programs(next as u64);
    let found = Some(next).filter(|next| *next != 0 && is_theirs);
    cache.store(found.unwrap_or(OURS), Ordering::Relaxed);
    found
}

/// Has the program the `operator new` that the C++ library's others call?
fn has_operator() -> bool {
    let name = c"_Znwm".as_ptr();
    // SAFETY: a terminated string; ours is found at least.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) } as u64;
    !code::is_own(first) || instrumented::is_programs(real::next(name) as u64)
}

/// The run begins: looks for one before our own functions, then behind them.
pub fn find() {
    let named = |from, name: &CStr| {
        // SAFETY: a terminated string.
        unsafe { libc::dlsym(from, name.as_ptr()) }
    };
    let [first, next] = [libc::RTLD_DEFAULT, libc::RTLD_NEXT].map(|from| named(from, c"malloc"));
    if !code::is_own(first as u64) {
        return MALLOC.store(first as usize, Ordering::Relaxed);
    }
    if next.is_null() || code::is_libc(next as u64) {
        return;
    }
    if !instrumented::is_programs(next as u64) {
        let library = library_of(next).unwrap_or_default();
        let what = format!(
            "{library} has no hooks: the runtime's heap, laid out as glibc's, stands in for its malloc (compile it with \
             corefold cc to have it simulated)"
        );
        return note(&what, 0);
    }
    MALLOC.store(next as usize, Ordering::Relaxed);
    for name in FUNCTIONS {
        let function = named(libc::RTLD_NEXT, name) as u64;
        if instrumented::is_programs(function) && !within::lead_on(name, function) {
            sys::engine_fault("cannot redirect the program's memory requests to its own allocator");
        }
    }
}
