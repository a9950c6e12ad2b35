// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the program has never had a second thread, which glibc's fast paths depend on.
use crate::scheduling::fiber::FIBERS;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// glibc 2.34 and later leave out what one thread does not need.
static HEEDED: AtomicBool = AtomicBool::new(false);

/// Learns from glibc's version, "2.36" and the like, whether it does.
pub fn learn(version: &[u8]) {
    let minor = version.strip_prefix(b"2.").unwrap_or(&[]);
    let minor = minor.iter().take_while(|c| c.is_ascii_digit()).fold(0, |n, c| 10 * n + u32::from(c - b'0'));
    HEEDED.store(minor >= 34, Relaxed);
}

/// Threads that have ended count still, as glibc has it.
pub fn only_thread() -> bool {
    FIBERS.len() == 1 && HEEDED.load(Relaxed)
}
