// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copying, filling and measuring by instruction, for the runtime itself.

pub fn copy(to: u64, from: u64, bytes: u64) {
    // SAFETY: the caller vouches for both ranges; `rep movsb` is a plain forward copy.
    unsafe {
        core::arch::asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") bytes => _,
            options(nostack, preserves_flags));
    }
}

pub fn fill(to: u64, byte: u8, bytes: u64) {
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("rep stosb", inout("rdi") to => _, in("al") byte, inout("rcx") bytes => _,
            options(nostack, preserves_flags));
    }
}

/// Bytes of the string at `from`, without the zero at its end.
pub fn length(from: u64) -> u64 {
    // SAFETY: the program passes a terminated string.
    unsafe { libc::strlen(from as *const core::ffi::c_char) as u64 }
}

pub fn length_within(from: u64, most: u64) -> u64 {
    // SAFETY: as above, or `most` bytes long.
    unsafe { libc::strnlen(from as *const core::ffi::c_char, most as usize) as u64 }
}
