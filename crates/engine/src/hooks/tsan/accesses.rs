// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses that a program makes through TSan's runtime by name, or has it know of.
use crate::entry::with_pc;
use crate::hooks::access::{range_read, range_write};
use core::arch::naked_asm;

/// Accesses by another place than the caller's: (address, place) or (address, place, something).
macro_rules! placed {
    ($($name:ident $size:literal $slow:ident)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            naked_asm!("mov edx, {size}", "jmp {slow}", size = const $size, slow = sym $slow)
        }
    )*};
}

placed! {
    __tsan_read1_pc 1 range_read __tsan_read2_pc 2 range_read __tsan_read4_pc 4 range_read
    __tsan_read8_pc 8 range_read __tsan_read16_pc 16 range_read
    __tsan_write1_pc 1 range_write __tsan_write2_pc 2 range_write __tsan_write4_pc 4 range_write
    __tsan_write8_pc 8 range_write __tsan_write16_pc 16 range_write
    __tsan_external_read 1 range_read __tsan_external_write 1 range_write
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_read_range_pc(address: u64, size: u64, pc: u64) {
    range_read(address, pc, size);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_write_range_pc(address: u64, size: u64, pc: u64) {
    range_write(address, pc, size);
}

macro_rules! unaligned {
    ($($load:ident $store:ident $read:ident $write:ident $type:ty;)*) => {$(
        extern "C" fn $read(address: u64, pc: u64) -> $type {
            range_read(address, pc, size_of::<$type>() as u64);
            // SAFETY: the caller's object.
            unsafe { (address as *const $type).read_unaligned() }
        }

        extern "C" fn $write(address: u64, value: $type, pc: u64) {
            range_write(address, pc, size_of::<$type>() as u64);
            // SAFETY: as above.
            unsafe { (address as *mut $type).write_unaligned(value) };
        }

        with_pc! { $load "rsi" $read; $store "rdx" $write; }
    )*};
}

unaligned! {
    __sanitizer_unaligned_load16 __sanitizer_unaligned_store16 load16 store16 u16;
    __sanitizer_unaligned_load32 __sanitizer_unaligned_store32 load32 store32 u32;
    __sanitizer_unaligned_load64 __sanitizer_unaligned_store64 load64 store64 u64;
}
