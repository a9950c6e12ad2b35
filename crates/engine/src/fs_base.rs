// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel thread has of its own in the processor and in the kernel: the FS base, and the restartable-sequence area that
//! lies relative to it.
use crate::sys;
use core::sync::atomic::{AtomicBool, AtomicI64, Ordering};

static FSGSBASE: AtomicBool = AtomicBool::new(false);
static RSEQ_OFFSET: AtomicI64 = AtomicI64::new(0);

pub fn has_fsgsbase() -> bool {
    FSGSBASE.load(Ordering::Relaxed)
}

/// Where a thread's rseq area lies relative to its FS base; 0 if glibc registers none.
fn rseq_offset() -> i64 {
    RSEQ_OFFSET.load(Ordering::Relaxed)
}

/// Learns what the host and its libc can.
pub fn read_abilities() {
    const FSGSBASE_BIT: u64 = 2;
    // SAFETY: no preconditions.
    let bits = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    FSGSBASE.store(bits & FSGSBASE_BIT != 0, Ordering::Relaxed);
    // SAFETY: terminated strings; glibc 2.35 and later export both symbols.
    unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        if !offset.is_null() && !size.is_null() && *size != 0 {
            RSEQ_OFFSET.store(*offset as i64, Ordering::Relaxed);
        }
    }
}

/// The kernel would write the host's CPU number into the area of the thread that runs, the carrier's.
pub fn unregister_rseq() {
    const RSEQ_BYTES: u64 = 32;
    const UNREGISTER: u64 = 1;
    const SIGNATURE: u64 = 0x5305_3053;
    let offset = rseq_offset();
    if offset != 0 {
        let area = read_fs().wrapping_add_signed(offset);
        // SAFETY: the area that glibc registered for this thread.
        unsafe { sys::syscall!(libc::SYS_rseq, area, RSEQ_BYTES, UNREGISTER, SIGNATURE; 0, 0) };
    }
}

/// The CPU number that restartable-sequence users read inline is the simulated one.
pub fn write_cpu_id(fs: u64, cpu: u32) {
    let offset = rseq_offset();
    if offset != 0 && fs != 0 {
        let area = fs.wrapping_add_signed(offset) as *mut u32;
        // SAFETY: glibc reserves the area in every thread's block.
        unsafe {
            area.write(cpu);
            area.add(1).write(cpu);
        }
    }
}

pub fn write_fs(base: u64) {
    if has_fsgsbase() {
        // SAFETY: the kernel says (AT_HWCAP2) that user code may.
        unsafe { core::arch::asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
    } else {
        const ARCH_SET_FS: u64 = 0x1002;
        // SAFETY: sets the register that the fiber's own thread has.
        unsafe { sys::syscall!(libc::SYS_arch_prctl, ARCH_SET_FS, base; 0, 0, 0, 0) };
    }
}

pub fn read_fs() -> u64 {
    let base: u64;
    // SAFETY: the first word of a thread's block is its own address (the x86-64 TLS ABI).
    unsafe { core::arch::asm!("mov {}, fs:0", out(reg) base, options(nostack, readonly, preserves_flags)) };
    base
}
