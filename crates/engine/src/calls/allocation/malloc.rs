// SPDX-License-Identifier: MIT OR Apache-2.0
//! malloc and its family: their own entry points, as the report names an object by the place that called them.
use crate::calls::allocation::heap::{self, Request};
use crate::calls::allocation::shim;
use crate::engine::active;
use crate::entry::with_pc;
use crate::scheduling::fiber::current;
use crate::storage::objects::{self, places};
use crate::sys;
use crate::threads::signals;
use core::ffi::{CStr, c_int, c_void};

/// What comes behind ours: libc's, or those of a library. Objects that are not of our heap are theirs.
mod next {
    use super::*;
    crate::real::real! {
        fn malloc(size: usize) -> *mut c_void;
        fn calloc(count: usize, size: usize) -> *mut c_void;
        fn realloc(at: *mut c_void, size: usize) -> *mut c_void;
        fn memalign(align: usize, size: usize) -> *mut c_void;
        fn free(at: *mut c_void) -> ();
        fn malloc_usable_size(at: *mut c_void) -> usize;
        fn mallopt(setting: c_int, value: c_int) -> c_int;
    }
}

/// No object is larger: what glibc refuses on every machine is refused here, and does not end the run.
const MOST: usize = isize::MAX as usize;

pub extern "C" fn allocate(size: usize, pc: u64) -> *mut c_void {
    if !active() {
        return next::malloc(size);
    }
    if size > MOST {
        return fail(libc::ENOMEM);
    }
    heap::allocate(Request::of(size as u64), pc).0 as *mut c_void
}

extern "C" fn allocate_zeroed(count: usize, size: usize, pc: u64) -> *mut c_void {
    if !active() {
        return next::calloc(count, size);
    }
    let Some(bytes) = count.checked_mul(size) else { return fail(libc::ENOMEM) };
    let (address, fresh) = heap::allocate(Request { cached: false, ..Request::of(bytes as u64) }, pc);
    if !fresh {
        crate::bytes::fill(address, 0, bytes as u64);
    }
    address as *mut c_void
}

fn fail(error: c_int) -> *mut c_void {
    // SAFETY: the running thread's errno.
    unsafe { *libc::__errno_location() = error };
    core::ptr::null_mut()
}

extern "C" fn reallocate(at: *mut c_void, size: usize, pc: u64) -> *mut c_void {
    let old = at as u64;
    if !active() || !at.is_null() && !objects::is_ours(old) {
        return next::realloc(at, size);
    }
    if at.is_null() {
        return allocate(size, pc);
    }
    if size == 0 {
        release(at, pc);
        return core::ptr::null_mut();
    }
    if size > MOST {
        return fail(libc::ENOMEM);
    }
    let had = objects::size_of(old);
    let (new, _) = heap::allocate(Request::of(size as u64), pc);
    let kept = had.min(size as u64);
    if !crate::code::is_libc(pc) {
        crate::hooks::access::range_read(old, pc, kept);
        crate::hooks::access::range_write(new, pc, kept);
    }
    // What this object's last stores wait with in a CPU's buffer moves with it.
    crate::scheduling::store_buffer::flush_range(old, kept);
    crate::bytes::copy(new, old, kept);
    if !free_at(old, pc) {
        crate::engine::note("realloc() of an address that is not a live heap object", pc);
    }
    new as *mut c_void
}

/// Any alignment will do, as with glibc 2.36: the next power of two is taken.
pub extern "C" fn allocate_aligned(align: usize, size: usize, pc: u64) -> *mut c_void {
    if !active() {
        return next::memalign(align, size);
    }
    let Some(align) = align.checked_next_power_of_two() else { return fail(libc::EINVAL) };
    if size > MOST {
        return fail(libc::ENOMEM);
    }
    let align = (align as u64).max(objects::ALIGNED);
    heap::allocate(Request { align, cached: align == objects::ALIGNED, ..Request::of(size as u64) }, pc).0
        as *mut c_void
}

extern "C" fn allocate_into(into: *mut *mut c_void, align: usize, size: usize, returns: *const u64) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(8) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's return address.
    let pc = unsafe { *returns };
    if active() {
        current().called_at.set(shim::caller(returns).unwrap_or(0));
    }
    let got = allocate_aligned(align, size, pc);
    if active() {
        current().called_at.set(0);
    }
    if got.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's variable.
    unsafe { *into = got };
    0
}

pub extern "C" fn release(at: *mut c_void, pc: u64) {
    let address = at as u64;
    if at.is_null() {
        return;
    }
    if !objects::is_ours(address) {
        return next::free(at);
    }
    if !active() {
        return;
    }
    let again = objects::is_freed(address) && address.is_multiple_of(objects::ALIGNED);
    if !free_at(address, pc) {
        let what: &[u8] =
            if again { b"free(): double free detected in tcache 2\n" } else { b"free(): invalid pointer\n" };
        sys::write(libc::STDERR_FILENO, what);
        signals::aborts(pc);
    }
}

/// False: no live object begins there.
fn free_at(address: u64, pc: u64) -> bool {
    crate::account::freed::check_free(address, pc);
    heap::release(address, pc)
}

/// The number of arenas is the one setting that the heap has; the others are accepted, and change nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mallopt(setting: c_int, value: c_int) -> c_int {
    if !active() {
        return next::mallopt(setting, value);
    }
    if setting == libc::M_ARENA_MAX && value > 0 {
        places(|places| places.limit_arenas(value as usize));
    }
    1
}

/// The same by the environment: `GLIBC_TUNABLES`, whose last setting counts, before `MALLOC_ARENA_MAX`. Decimal numbers only.
pub fn read_settings() {
    // SAFETY: a terminated string; the environment does not change before the program starts.
    let of = |name: &CStr| unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_str().unwrap_or_default())
    };
    let tunables = of(c"GLIBC_TUNABLES").unwrap_or_default();
    let positive = |text: &str| text.trim_start().parse::<usize>().ok().filter(|most| *most > 0);
    let mut tuned = tunables.split(':').filter_map(|tunable| tunable.strip_prefix("glibc.malloc.arena_max="));
    let most = tuned.next_back().and_then(positive).or_else(|| of(c"MALLOC_ARENA_MAX").and_then(positive));
    if let Some(most) = most {
        places(|places| places.limit_arenas(most));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn malloc_usable_size(at: *mut c_void) -> usize {
    match at as u64 {
        0 => 0,
        address if objects::is_ours(address) => objects::size_of(address) as usize,
        _ => next::malloc_usable_size(at),
    }
}

/// Told where its return address is.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub extern "C" fn posix_memalign() {
    core::arch::naked_asm!("mov rcx, rsp", "jmp {into}", into = sym allocate_into)
}

with_pc! {
    malloc "rsi" allocate; calloc "rdx" allocate_zeroed; realloc "rdx" reallocate; memalign "rdx" allocate_aligned;
    aligned_alloc "rdx" allocate_aligned; free "rsi" release; cfree "rsi" release;
}
