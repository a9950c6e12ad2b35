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
