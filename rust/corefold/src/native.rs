// SPDX-License-Identifier: MIT OR Apache-2.0
//! Without the simulator: nothing.
use core::ffi::CStr;

/// What `progress!` calls.
#[inline(always)]
pub fn progress(_name: &'static CStr) {}

/// What `begin!` calls.
#[inline(always)]
pub fn begin() {}

/// What `end!` calls.
#[inline(always)]
pub fn end() {}

/// Names an object in reports, until its memory is freed. Names are cut after 127 bytes, and at a NUL.
///
/// Of a `Box`, `Arc` or `Vec`, name what it points to: `label(&*shared, "table")`, `label(&rows[..], "rows")`.
#[inline(always)]
pub fn label<T: ?Sized>(_object: &T, _name: &str) {}
