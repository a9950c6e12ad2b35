// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files that are loaded, as far as their own system calls go.
use crate::carrier::Carrier;
use crate::code;
use alloc::vec::Vec;

/// The instruction `syscall`.
pub const INSTRUCTION: [u8; 2] = [0x0f, 0x05];

/// Machine code of a loaded file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub begin: u64,
    pub end: u64,
}

pub struct Files {
    /// Those that are loaded now and have been scanned.
    pub known: Vec<Range>,
    /// Those whose system calls come here.
    pub caught: Vec<Range>,
    /// The C and C++ libraries', but for libc itself.
    pub systems: Vec<Range>,
}

static FILES: Carrier<Files> = Carrier::new(Files { known: Vec::new(), caught: Vec::new(), systems: Vec::new() });

pub fn with<R>(work: impl FnOnce(&mut Files) -> R) -> R {
    FILES.with(work)
}

/// Is the system call that follows on `pc` caught?
pub fn catches(pc: u64) -> bool {
    const NEAR: usize = 32;
    let caught = with(|files| files.caught.iter().find(|range| (range.begin..range.end).contains(&pc)).copied());
    caught.is_some_and(|range| {
        let bytes = ((range.end - pc) as usize).min(NEAR);
        // SAFETY: code of a loaded file.
        unsafe { core::slice::from_raw_parts(pc as *const u8, bytes) }.windows(2).any(|two| two == INSTRUCTION)
    })
}

/// Is it in a library of the C or C++ language, which waits, and tells others, by calls that are the runtime's?
pub fn is_system(pc: u64) -> bool {
    code::is_libc(pc) || with(|files| files.systems.iter().any(|range| (range.begin..range.end).contains(&pc)))
}
