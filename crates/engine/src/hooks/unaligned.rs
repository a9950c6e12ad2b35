// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain accesses that may cross a line, which vectorised loops are full of. Most do not, and are then
//! accesses like any other.
use core::arch::naked_asm;

/// `$aligned` for what lies in one line; `$range` gets (address, return address, size).
macro_rules! unaligned_hook {
    ($($name:ident $volatile:ident $size:literal $aligned:ident $range:ident)*) => {$(
        unaligned_hook! { @one $name $size $aligned $range }
        unaligned_hook! { @one $volatile $size $aligned $range }
    )*};
    (@one $name:ident $size:literal $aligned:ident $range:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(_address: u64) {
            naked_asm!(
                "mov eax, edi",
                "and eax, 63",
                "cmp eax, 64 - {size}",
                "ja 2f",
                "jmp {aligned}",
                "2: mov rsi, [rsp]",
                "mov edx, {size}",
                "jmp {range}",
                size = const $size,
                aligned = sym super::inline::$aligned,
                range = sym super::access::$range,
            )
        }
    };
}

unaligned_hook! {
    __tsan_unaligned_read1 __tsan_unaligned_volatile_read1 1 __tsan_read1 range_read
    __tsan_unaligned_read2 __tsan_unaligned_volatile_read2 2 __tsan_read2 range_read
    __tsan_unaligned_read4 __tsan_unaligned_volatile_read4 4 __tsan_read4 range_read
    __tsan_unaligned_read8 __tsan_unaligned_volatile_read8 8 __tsan_read8 range_read
    __tsan_unaligned_read16 __tsan_unaligned_volatile_read16 16 __tsan_read16 range_read
    __tsan_unaligned_write1 __tsan_unaligned_volatile_write1 1 __tsan_write1 range_write
    __tsan_unaligned_write2 __tsan_unaligned_volatile_write2 2 __tsan_write2 range_write
    __tsan_unaligned_write4 __tsan_unaligned_volatile_write4 4 __tsan_write4 range_write
    __tsan_unaligned_write8 __tsan_unaligned_volatile_write8 8 __tsan_write8 range_write
    __tsan_unaligned_write16 __tsan_unaligned_volatile_write16 16 __tsan_write16 range_write
}
