// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of ours on the host's disk.
use crate::sys;
use alloc::format;
use core::ffi::c_int;

pub fn write(path: &str, text: &str) -> bool {
    sys::write_file(format!("{path}\0").as_bytes(), text.as_bytes()).is_ok()
}

/// One that is there already stays.
pub fn make_directory(path: &str) {
    let path = format!("{path}\0");
    // SAFETY: a terminated string.
    unsafe { sys::syscall!(libc::SYS_mkdir, path.as_ptr(), 0o755; 0, 0, 0, 0) };
}

pub fn remove(path: &str, flags: c_int) {
    let path = format!("{path}\0");
    // SAFETY: a terminated string.
    unsafe { sys::syscall!(libc::SYS_unlinkat, libc::AT_FDCWD, path.as_ptr(), flags; 0, 0, 0) };
}

/// A symbolic link, in place of one that is there.
pub fn link(path: &str, target: &str) {
    remove(path, 0);
    let (target, path) = (format!("{target}\0"), format!("{path}\0"));
    // SAFETY: terminated strings.
    unsafe { sys::syscall!(libc::SYS_symlink, target.as_ptr(), path.as_ptr(); 0, 0, 0, 0) };
}
