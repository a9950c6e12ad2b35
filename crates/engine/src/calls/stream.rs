// SPDX-License-Identifier: MIT OR Apache-2.0
//! glibc's streams.
use core::ffi::c_int;

/// The beginning of glibc's `FILE`, which is part of its binary interface.
#[repr(C)]
pub struct Stream {
    pub flags: c_int,
    pub read_next: *const u8,
    pub read_end: *const u8,
    read_base: usize,
    write_base: usize,
    write_next: usize,
    others: [usize; 8],
    pub fd: c_int,
    flags2: c_int,
    offset: i64,
    column: u16,
    vtable_offset: i8,
    short: u8,
    pub lock: u64,
    more: [usize; 6],
    /// Of wide characters, if positive.
    mode: c_int,
}

impl Stream {
    /// The descriptor that it reads and writes; negative: none. libc sets none in a stream over memory, so what is there may
    /// be anything: only a stream with a file's buffer has one (`fileno` goes by that, too).
    pub fn descriptor(&self) -> c_int {
        const FILE_BUFFER: c_int = 0x2000;
        if self.flags & FILE_BUFFER != 0 { self.fd } else { -1 }
    }

    /// Is there output that a flush writes? Wide characters are in a buffer of their own.
    pub fn has_output(&self) -> bool {
        const WRITES: c_int = 0x800;
        self.flags & WRITES != 0 && (self.mode > 0 || self.write_next > self.write_base)
    }

    /// The program locks it by itself (`__fsetlocking`).
    pub fn is_locked_by_user(&self) -> bool {
        const USER_LOCK: c_int = 0x8000;
        self.flags & USER_LOCK != 0
    }
}
