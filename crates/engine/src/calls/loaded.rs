// SPDX-License-Identifier: MIT OR Apache-2.0
//! Going through the files that are loaded: libc calls back under a lock of the loader's. The program's function is
//! simulated, and others must be able to go on meanwhile, so here a lock of ours is held in its place. (Unwinders call
//! this for each exception before glibc 2.35, which gives them `_dl_find_object`, without a lock.)
use crate::calls::library_locks::{Guarded, give, take_library};
use crate::code::is_own;
use crate::engine::charge;
use crate::stand_in::stand_ins_at;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

/// Cycles for each file, beside the program's function.
const VISIT: u32 = 20;

type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
    // SAFETY: libc's structure, and our own vector.
    unsafe { (*into.cast::<Vec<libc::dl_phdr_info>>()).push(*info) };
    0
}

stand_ins_at! {
    "rdx" fn dl_iterate_phdr(callback: Callback, data: *mut c_void; pc) -> c_int {
        if is_own(pc) {
            return own(callback, data);
        }
        let mut files: Vec<libc::dl_phdr_info> = Vec::new();
        own(collect, (&raw mut files).cast());
        let size = size_of::<libc::dl_phdr_info>();
        let mut held = 0;
        take_library(Guarded::LoadedFiles, pc, &mut held);
        let mut results = files.iter_mut().map(|info| {
            charge(VISIT);
            // SAFETY: the program's own function and data.
            unsafe { callback(info, size, data) }
        });
        let result = results.find(|result| *result != 0).unwrap_or(0);
        give(held, pc);
        result
    }
}

/// Files that had been loaded when the run began: they stay.
static AT_START: AtomicU64 = AtomicU64::new(0);

fn loads() -> u64 {
    unsafe extern "C" fn read(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: libc's structure, and our own variable.
        unsafe { *into.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut loads = 0u64;
    // SAFETY: the callback above.
    unsafe { libc::dl_iterate_phdr(Some(read), (&raw mut loads).cast()) };
    loads
}

/// The run begins.
pub fn remember() {
    AT_START.store(loads(), Ordering::Relaxed);
}

/// Keeps the file that `address` lies in loaded until [`let_go`] of what is returned; null if it stays anyway.
pub fn keep(address: *const c_void) -> *mut c_void {
    if loads() == AT_START.load(Ordering::Relaxed) {
        return core::ptr::null_mut();
    }
    // SAFETY: a zeroed one is valid, and the call fills it; the name is the loader's.
    unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(address, &mut info) == 0 || info.dli_fname.is_null() {
            return core::ptr::null_mut();
        }
        libc::dlopen(info.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD)
    }
}

pub fn let_go(file: *mut c_void) {
    if !file.is_null() {
        // SAFETY: from `keep`.
        unsafe { libc::dlclose(file) };
    }
}
