// SPDX-License-Identifier: MIT OR Apache-2.0
//! In a build of `cargo corefold`, which links the runtime: its functions, as corefold.h declares them. Run without the
//! simulator, they do nothing.
use core::ffi::{c_char, c_void, CStr};

extern "C" {
    fn corefold_progress(name: *const c_char);
    fn corefold_region_begin();
    fn corefold_region_end();
    fn corefold_label(address: *const c_void, bytes: usize, name: *const c_char);
}

/// What `progress!` calls.
#[inline(always)]
pub fn progress(name: &'static CStr) {
    // SAFETY: the name is terminated and lives as long as the program.
    unsafe { corefold_progress(name.as_ptr()) }
}

/// What `begin!` calls.
#[inline(always)]
pub fn begin() {
    // SAFETY: it takes nothing, and may be called at any time.
    unsafe { corefold_region_begin() }
}

/// What `end!` calls.
#[inline(always)]
pub fn end() {
    // SAFETY: it takes nothing, and may be called at any time.
    unsafe { corefold_region_end() }
}

/// The longest name, with the byte that ends it.
const LONGEST: usize = 128;

/// Names an object in reports, until its memory is freed. Names are cut after 127 bytes, and at a NUL.
///
/// Of a `Box`, `Arc` or `Vec`, name what it points to: `label(&*shared, "table")`, `label(&rows[..], "rows")`.
#[inline(never)]
pub fn label<T: ?Sized>(object: &T, name: &str) {
    // Not on the heap: objects allocated later would lie elsewhere than without the label.
    let mut terminated = [0_u8; LONGEST];
    let length = name.len().min(LONGEST - 1);
    terminated[..length].copy_from_slice(&name.as_bytes()[..length]);
    let address: *const T = object;
    // SAFETY: the runtime copies the name, which is terminated, and only notes the address.
    unsafe { corefold_label(address.cast(), core::mem::size_of_val(object), terminated.as_ptr().cast()) }
}
