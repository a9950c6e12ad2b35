// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain accesses that may cross a line, which vectorised loops are full of. Most do not, and then the same
//! comparison decides as for the others.
use super::hot::HOT;
use crate::layout::SHADOW;
use core::arch::naked_asm;

/// `$line` and `$range` get (address, return address, size): one line, and maybe two.
macro_rules! read_hook {
    ($($name:ident $size:literal)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov eax, edi",
                "and eax, 63",
                "cmp eax, 64 - {size}",
                "ja 3f",
                "mov rax, rdi",
                "shr rax, 6",
                "mov rdx, {shadow}",
                "mov eax, [rdx + rax * 4]",
                "and eax, -2",
                "cmp eax, ds:[{hot}]",
                "jne 2f",
                "ret",
                "2: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {line}",
                "3: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {range}",
                hot = const HOT,
                shadow = const SHADOW,
                size = const $size,
                line = sym super::access::plain_read,
                range = sym super::access::range_read,
            )
        }
    )*};
}

macro_rules! write_hook {
    ($($name:ident $size:literal)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov eax, edi",
                "and eax, 63",
                "cmp eax, 64 - {size}",
                "ja 3f",
                "mov rax, rdi",
                "shr rax, 6",
                "mov rdx, {shadow}",
                "mov byte ptr ds:[{hot} + 48], 1",
                "mov eax, [rdx + rax * 4]",
                "cmp eax, ds:[{hot} + 4]",
                "jne 2f",
                "ret",
                "2: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {line}",
                "3: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {range}",
                hot = const HOT,
                shadow = const SHADOW,
                size = const $size,
                line = sym super::access::plain_write,
                range = sym super::access::range_write,
            )
        }
    )*};
}

read_hook! {
    __tsan_unaligned_read1 1 __tsan_unaligned_read2 2 __tsan_unaligned_read4 4 __tsan_unaligned_read8 8
    __tsan_unaligned_read16 16 __tsan_unaligned_volatile_read1 1 __tsan_unaligned_volatile_read2 2
    __tsan_unaligned_volatile_read4 4 __tsan_unaligned_volatile_read8 8 __tsan_unaligned_volatile_read16 16
}
write_hook! {
    __tsan_unaligned_write1 1 __tsan_unaligned_write2 2 __tsan_unaligned_write4 4 __tsan_unaligned_write8 8
    __tsan_unaligned_write16 16 __tsan_unaligned_volatile_write1 1 __tsan_unaligned_volatile_write2 2
    __tsan_unaligned_volatile_write4 4 __tsan_unaligned_volatile_write8 8 __tsan_unaligned_volatile_write16 16
}
