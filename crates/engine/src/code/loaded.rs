// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are loaded while the program runs: they are noted, and kept.
use crate::code::{instrumented, modules, unwind};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

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

/// Files were loaded, or are no more, or the run begins. The loader, which is asked for them, takes a lock: others may run meanwhile.
pub fn files_changed() {
    modules::files_changed();
    instrumented::files_changed();
    unwind::files_changed();
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
