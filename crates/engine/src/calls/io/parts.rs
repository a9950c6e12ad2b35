// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pieces of memory that a call transfers.
use crate::hooks::access::{range_read, range_write};
use crate::scheduling::peek;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

pub type Parts = Vec<libc::iovec>;

pub fn one(at: u64, bytes: usize) -> Parts {
    alloc::vec![libc::iovec { iov_base: at as *mut c_void, iov_len: bytes }]
}

/// A copy of the caller's list, or what is wrong with that.
pub fn parts(list: *const libc::iovec, count: usize) -> Result<Parts, c_int> {
    if count > libc::UIO_MAXIOV as usize {
        return Err(libc::EINVAL);
    }
    (0..count).map(|i| peek::fetch(list.wrapping_add(i)).ok_or(libc::EFAULT)).collect()
}

/// May all of it lie in the program's memory? The kernel says EFAULT of what does not.
pub fn are_programs(parts: &[libc::iovec]) -> bool {
    const END: u64 = 1 << 47;
    let is = |p: &libc::iovec| (p.iov_base as u64).checked_add(p.iov_len as u64).is_some_and(|end| end <= END);
    parts.iter().all(is)
}

pub fn total(parts: &[libc::iovec]) -> u64 {
    parts.iter().map(|p| p.iov_len as u64).sum()
}

/// Leaves out the first `bytes` bytes.
pub fn advance(parts: &mut Parts, mut bytes: u64) {
    while let Some(first) = parts.first_mut()
        && bytes >= first.iov_len as u64
    {
        bytes -= first.iov_len as u64;
        parts.remove(0);
    }
    if let Some(first) = parts.first_mut() {
        first.iov_base = (first.iov_base as u64 + bytes) as *mut c_void;
        first.iov_len -= bytes as usize;
    }
}

/// The first `bytes` bytes.
pub fn limited(parts: &[libc::iovec], mut bytes: u64) -> Parts {
    let mut some = Vec::new();
    for part in parts {
        let here = (part.iov_len as u64).min(bytes);
        some.push(libc::iovec { iov_base: part.iov_base, iov_len: here as usize });
        bytes -= here;
    }
    some
}

/// The kernel is about to read all of it, if it can.
pub fn will_read(parts: &[libc::iovec], pc: u64) {
    if !are_programs(parts) {
        return;
    }
    crate::code::cost::work(total(parts));
    parts.iter().for_each(|p| range_read(p.iov_base as u64, pc, p.iov_len as u64));
}

/// The kernel has written the first `bytes` bytes.
pub fn has_written(parts: &[libc::iovec], bytes: i64, pc: u64) {
    let bytes = bytes.max(0) as u64;
    crate::code::cost::work(bytes);
    limited(parts, bytes).iter().for_each(|p| range_write(p.iov_base as u64, pc, p.iov_len as u64));
}
