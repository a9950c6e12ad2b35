//! Copying and filling by instruction: compiled code for these would call memcpy, which is ours.

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
