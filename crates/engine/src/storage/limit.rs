// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory limit of a run. A program may allocate much that it never touches; so the amount allocated
//! only decides when to check the resident memory.
use crate::engine::launch;
use crate::sys;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes that the program has asked for and not given back.
static ASKED: AtomicU64 = AtomicU64::new(0);
/// Bytes asked for since the last look.
static SINCE: AtomicU64 = AtomicU64::new(0);
const LOOK_EVERY: u64 = 16 << 20;

/// The program asks for heap memory; `pc` is where. One request beyond the limit is not taken for one that
/// is never used.
#[inline]
pub fn take(bytes: u64, pc: u64) {
    let limit = launch().memory_limit;
    if bytes > limit && limit != 0 {
        crate::ending::out_of_memory(bytes, pc);
    }
    map(bytes, pc);
}

/// The program maps memory.
#[inline]
pub fn map(bytes: u64, pc: u64) {
    let asked = ASKED.load(Ordering::Relaxed) + bytes;
    ASKED.store(asked, Ordering::Relaxed);
    let limit = launch().memory_limit;
    if asked > limit && limit != 0 {
        beyond(bytes, limit, pc);
    }
}

pub fn asked() -> u64 {
    ASKED.load(Ordering::Relaxed)
}

pub fn give(bytes: u64) {
    ASKED.store(ASKED.load(Ordering::Relaxed).saturating_sub(bytes), Ordering::Relaxed);
}

#[cold]
fn beyond(bytes: u64, limit: u64, pc: u64) {
    let since = SINCE.load(Ordering::Relaxed) + bytes;
    SINCE.store(since, Ordering::Relaxed);
    if since >= LOOK_EVERY {
        SINCE.store(0, Ordering::Relaxed);
        if in_use().is_some_and(|used| used > limit) {
            crate::ending::out_of_memory(bytes, pc);
        }
    }
}

/// Bytes of memory that the process really has for itself.
fn in_use() -> Option<u64> {
    const PAGE: u64 = 4096;
    let text = sys::read_file(b"/proc/self/statm\0")?;
    let mut pages = core::str::from_utf8(&text).ok()?.split(' ').skip(1).map_while(|n| n.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * PAGE)
}
